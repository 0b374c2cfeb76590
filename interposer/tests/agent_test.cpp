// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent that measures (footprints/agent.cpp) on a slow machine. The driver and the Sanitizer are stand-ins that
// know one module: whether its code is being changed, whether it is patched, and what its launches hand to the patches.
#include "interposer/footprints/agent.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "interposer/footprints/driver_calls.h"
#include "interposer/footprints/sanitizer_api.h"

extern "C" const char streamsan_patch_image[1] = {0};

namespace streamsan::footprints {
namespace {

using std::chrono::milliseconds;
constexpr std::uint32_t kPatience = 50;  // ms
constexpr milliseconds kSlow{6 * kPatience};

struct Machine {
  std::atomic<bool> changing{false};  ///< the module's code is being changed
  std::atomic<bool> patched{false};
  std::atomic<bool> listening{false};
  std::atomic<bool> kernel_runs{false};
  std::atomic<bool> other_work{false};  ///< keeps the GPU busy
  bool green = false;                   ///< streams belong to a green context
  milliseconds patching{0};
  milliseconds unpatching{0};
  Sanitizer_CallbackFunc callback = nullptr;
  const void* given = nullptr;  ///< to the patches, by the last launch that was given anything
  std::atomic<int> changed_under_kernels{0};
};
Machine g_machine;

void pass(milliseconds time) {
  g_machine.changing = true;
  std::this_thread::sleep_for(time);
  if (g_machine.kernel_runs) ++g_machine.changed_under_kernels;
  g_machine.changing = false;
}

SanitizerResult subscribe(Sanitizer_SubscriberHandle*, Sanitizer_CallbackFunc callback, void*) {
  g_machine.callback = callback;
  return SANITIZER_SUCCESS;
}
SanitizerResult enable_domain(uint32_t on, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain domain) {
  EXPECT_EQ(domain, SANITIZER_CB_DOMAIN_LAUNCH);
  g_machine.listening = on != 0;
  return SANITIZER_SUCCESS;
}
SanitizerResult patch_module(CUmodule) {
  pass(g_machine.patching);
  g_machine.patched = true;
  return SANITIZER_SUCCESS;
}
SanitizerResult unpatch_module(CUmodule) {
  pass(g_machine.unpatching);
  g_machine.patched = false;
  return SANITIZER_SUCCESS;
}
SanitizerResult set_launch_data(Sanitizer_LaunchHandle, CUfunction, Sanitizer_StreamHandle, const void* user) {
  g_machine.given = user;
  return SANITIZER_SUCCESS;
}

/// What the patches of a launch are handed if nobody gave it anything.
const void* const kAnything = &g_machine;

/// A launch of a kernel of the module: what its patches are handed.
const void* launch() {
  g_machine.given = kAnything;
  if (g_machine.changing) ++g_machine.changed_under_kernels;
  const Sanitizer_LaunchData data{};
  if (g_machine.listening) {
    g_machine.callback(nullptr, SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_AFTER_SYSCALL_SETUP, &data);
  }
  return g_machine.given;
}

// Device memory is host memory here.
CUresult alloc(CUdeviceptr* out, std::size_t bytes) {
  *out = reinterpret_cast<CUdeviceptr>(std::calloc(bytes, 1));
  return CUDA_SUCCESS;
}
CUresult alloc_host(void** out, std::size_t bytes, unsigned) {
  *out = std::calloc(bytes, 1);
  return CUDA_SUCCESS;
}
CUresult synchronize() {
  while (g_machine.kernel_runs || g_machine.other_work) std::this_thread::sleep_for(milliseconds(1));
  return CUDA_SUCCESS;
}

template <auto kNumber, class Handle>
CUresult hand_out(Handle* out) {
  *out = reinterpret_cast<Handle>(kNumber);
  return CUDA_SUCCESS;
}

void* driver_entry(const char* name) {
  static const std::map<std::string, void*> kEntries = [] {
    std::map<std::string, void*> entries;
    const auto add = [&entries](const char* of, auto* function) { entries[of] = reinterpret_cast<void*>(function); };
#define STREAMSAN_NOTHING(function) add(#function, +[]() { return CUDA_SUCCESS; });
    STREAMSAN_DRIVER_CALLS(STREAMSAN_NOTHING)
#undef STREAMSAN_NOTHING
    add("cuCtxGetCurrent", hand_out<8, CUcontext>);
    add("cuCtxSynchronize", synchronize);
    add("cuEventCreate", +[](CUevent* out, unsigned) { return hand_out<16>(out); });
    add("cuEventQuery", +[](CUevent) { return g_machine.kernel_runs ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; });
    add("cuFuncGetModule", +[](CUmodule* out, CUfunction) { return hand_out<24>(out); });
    add("cuStreamCreate", +[](CUstream* out, unsigned) { return hand_out<32>(out); });
    add(
        "cuStreamGetGreenCtx", +[](CUstream, CUgreenCtx* out) {
          *out = g_machine.green ? reinterpret_cast<CUgreenCtx>(40) : nullptr;
          return CUDA_SUCCESS;
        });
    add("cuStreamGetCtx", +[](CUstream, CUcontext* out) { return hand_out<8>(out); });
    add("cuMemAlloc_v2", alloc);
    add("cuMemHostAlloc", alloc_host);
    add(
        "cuMemFree_v2", +[](CUdeviceptr memory) {
          std::free(reinterpret_cast<void*>(memory));
          return CUDA_SUCCESS;
        });
    add(
        "cuMemFreeHost", +[](void* memory) {
          std::free(memory);
          return CUDA_SUCCESS;
        });
    add(
        "cuMemGetInfo_v2", +[](std::size_t* free_bytes, std::size_t* total) {
          *free_bytes = *total = std::size_t{1} << 30;
          return CUDA_SUCCESS;
        });
    add(
        "cuMemcpyDtoHAsync_v2", +[](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
          std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
          return CUDA_SUCCESS;
        });
    add(
        "cuMemcpyHtoDAsync_v2", +[](CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
          std::memcpy(reinterpret_cast<void*>(to), from, bytes);
          return CUDA_SUCCESS;
        });
    return entries;
  }();
  const auto found = kEntries.find(name);
  return found == kEntries.end() ? nullptr : found->second;
}

class Agent : public testing::Test {
 protected:
  void SetUp() override {
    g_machine.~Machine();
    new (&g_machine) Machine();
    const StreamSanHost host{.version = kStreamSanAgentVersion,
                             .driver_entry = driver_entry,
                             .sanitizer_library = nullptr,
                             .script = nullptr,
                             .most_bytes = std::uint64_t{4} << 20,
                             .patience_ms = kPatience};
    ASSERT_EQ(agent.start(&host), nullptr);
  }
  void TearDown() override {
    g_machine.kernel_runs = g_machine.other_work = false;
    settle();  // the agent is one for all tests
    EXPECT_FALSE(g_machine.patched);
    EXPECT_FALSE(g_machine.listening);
    EXPECT_EQ(g_machine.changed_under_kernels, 0);
  }
  /// Once the kernel and all else have ended.
  void settle() const {
    for (int i = 0; i < 1000 && !agent.settle(kPatience); ++i) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_TRUE(agent.settle(kPatience));
  }
  StreamSanOutcome begin() const { return agent.begin(&kLaunch).outcome; }
  /// On another thread of the guest, once the gate is open.
  static const void* launch_elsewhere() {
    const void* handed = nullptr;
    std::thread([&handed] { handed = launch(); }).join();
    return handed;
  }

  static constexpr StreamSanLaunch kLaunch{.function = &g_machine,
                                           .is_kernel = 0,
                                           .stream = nullptr,
                                           .name = "kernel",
                                           .pointer_words = nullptr,
                                           .pointer_count = 0};
  const StreamSanAgent& agent = *streamsan_agent();
};

TEST_F(Agent, ALaunchIsGivenMarksAndAfterItNothingIsLeft) {
  ASSERT_EQ(begin(), kStreamSanMeasured);
  EXPECT_TRUE(g_machine.patched);
  const void* marks = launch();
  EXPECT_NE(marks, nullptr);
  EXPECT_NE(marks, kAnything);
  EXPECT_EQ(agent.end(1).outcome, kStreamSanMeasured);
  EXPECT_FALSE(g_machine.patched);
  EXPECT_EQ(launch(), kAnything) << "launches cost nothing more";
}

TEST_F(Agent, NobodyGoesOnWhileCodeIsUnpatched) {
  g_machine.unpatching = kSlow;
  ASSERT_EQ(begin(), kStreamSanMeasured);
  launch();
  const StreamSanMeasurement result = agent.end(1);
  EXPECT_FALSE(g_machine.changing);
  launch_elsewhere();
  EXPECT_EQ(result.outcome, kStreamSanMeasured) << "slow, and right";
}

TEST_F(Agent, NobodyGoesOnWhileCodeIsPatched) {
  g_machine.patching = kSlow;
  EXPECT_EQ(begin(), kStreamSanMeasured);
  EXPECT_FALSE(g_machine.changing);
  launch();
  EXPECT_EQ(agent.end(1).outcome, kStreamSanMeasured);
}

TEST_F(Agent, CodeIsUnpatchedOnlyWhenTheGpuIsIdle) {
  ASSERT_EQ(begin(), kStreamSanMeasured);
  launch();
  g_machine.other_work = true;  // enqueued by another thread: no launch, so nothing kept it out
  EXPECT_EQ(agent.end(1).outcome, kStreamSanFailed);
  EXPECT_TRUE(g_machine.patched);
  EXPECT_EQ(begin(), kStreamSanBusy);
  g_machine.other_work = false;
}

TEST_F(Agent, NothingIsPatchedForAStreamOfAGreenContext) {
  g_machine.green = true;
  EXPECT_EQ(begin(), kStreamSanFailed);
  EXPECT_FALSE(g_machine.patched);
  g_machine.green = false;
  EXPECT_EQ(begin(), kStreamSanMeasured);
  launch();
  EXPECT_EQ(agent.end(1).outcome, kStreamSanMeasured);
}

TEST_F(Agent, AllLaunchesBesideALateKernelAreGivenNull) {
  ASSERT_EQ(begin(), kStreamSanMeasured);
  launch();
  g_machine.kernel_runs = true;
  EXPECT_EQ(agent.end(1).outcome, kStreamSanLate);
  EXPECT_TRUE(g_machine.patched);
  EXPECT_EQ(launch(), nullptr);
  EXPECT_EQ(launch_elsewhere(), nullptr);
  EXPECT_FALSE(agent.settle(1));
  EXPECT_EQ(launch(), nullptr);
  g_machine.kernel_runs = false;
  settle();
  EXPECT_FALSE(g_machine.patched);
  EXPECT_EQ(launch(), kAnything);
}

TEST_F(Agent, AContextThatTakesTheHandleOfALostOneGetsMarksOfItsOwn) {
  ASSERT_EQ(begin(), kStreamSanMeasured);
  const void* before = launch();
  ASSERT_EQ(agent.end(1).outcome, kStreamSanMeasured);
  g_machine.other_work = true;
  EXPECT_EQ(begin(), kStreamSanBusy);
  agent.context_going(nullptr);  // the worker still waits for its GPU: nothing can be given back
  g_machine.other_work = false;
  StreamSanOutcome begun = begin();
  for (int i = 0; i < 1000 && begun == kStreamSanBusy; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
    begun = begin();
  }
  ASSERT_EQ(begun, kStreamSanMeasured);
  EXPECT_NE(launch(), before);
  EXPECT_EQ(agent.end(1).outcome, kStreamSanMeasured);
}

}  // namespace

const char* load_sanitizer(const char*, SanitizerApi& api) {
  api.subscribe = subscribe;
  api.enable_domain = enable_domain;
  api.enable_callback = [](uint32_t, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain, Sanitizer_CallbackId) {
    return SANITIZER_SUCCESS;
  };
  api.add_patches = [](const void*, CUcontext) { return SANITIZER_SUCCESS; };
  api.patch_instructions = [](const Sanitizer_InstructionId, CUmodule, const char*) { return SANITIZER_SUCCESS; };
  api.patch_module = patch_module;
  api.unpatch_module = unpatch_module;
  api.set_launch_data = set_launch_data;
  return nullptr;
}

}  // namespace streamsan::footprints
