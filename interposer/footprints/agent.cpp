// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent that measures with NVIDIA's Sanitizer API.
//
//   begin:  wait until the GPU is idle, patch the kernel's module     (worker thread, bounded; see worker.h)
//           listen to launches
//   the launch itself: the callback hands the marks to the patches
//   end:    stop listening, wait for the kernel (bounded), unpatch, read the marks
//
// So a module is patched only while one launch of it is measured, and nothing of this costs anything at any other time:
// patching and unpatching take some 0.2 ms, a patched kernel runs at a fraction of its speed (measured on an H200 with
// driver 580: 28 times slower where memory bounds it), an unpatched one at full speed again.
//
// What was learned on the way about the library of CUDA 13.0:
//   * The subscription must be there before the context is made; modules of earlier contexts cannot be patched.
//   * Adding or patching inside a launch callback deadlocks for any stream but the default one. Outside it waits until
//   the
//     context has no work left, like loading a module does.
//   * Another subscriber (CUPTI: Nsight, torch.profiler) means silence: every call succeeds, no callback comes. Seen
//   here
//     as a launch that was never announced.
//
// One measurement at a time, for all threads. No lock is held between begin() and end() but that.
#include "interposer/footprints/agent.h"

#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include "interposer/footprints/device_marks.h"
#include "interposer/footprints/sanitizer_api.h"
#include "interposer/footprints/tensor_code.h"
#include "interposer/footprints/worker.h"

extern "C" const char streamsan_patch_image[];  // patch_image.S

namespace streamsan::footprints {
namespace {

constexpr std::size_t kMostContexts = 32;
constexpr unsigned kMostUnannounced = 3;

struct Patch {
  Sanitizer_InstructionId instruction;
  const char* function;
};
constexpr Patch kPatches[] = {
    {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "streamsan_access"},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "streamsan_async_copy"},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "streamsan_bulk_load"},
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, "streamsan_bulk_store"},
    {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, "streamsan_bulk_reduction"},
};

struct Context {
  CUcontext handle = nullptr;
  bool patches_added = false;
  CUevent event = nullptr;
  DeviceMarks marks;
};

enum class Stage : int {
  Preparing,  ///< the worker is at it, the guest's thread waits
  Ready,
  Abandoned,  ///< nobody waits any more: the worker cleans up
};

/// The measurement under way. Owned by whoever made g_busy true, and by the worker while it runs a job for him.
struct Current {
  Context* context = nullptr;
  void* handle = nullptr;  // as launched
  bool is_kernel = false;
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  const char* name = nullptr;
  bool patched = false;
  const char* problem = nullptr;
  std::atomic<Stage> stage{Stage::Preparing};
};

constinit StreamSanHost g_host{};
constinit SanitizerApi g_api{};
constinit DriverCalls g_driver{};
constinit Sanitizer_SubscriberHandle g_subscriber{};
Context g_contexts[kMostContexts];
constinit std::atomic<bool> g_busy{false};
Current g_current;
Runs g_runs;
Worker g_worker;
constinit unsigned g_unannounced = 0;  // guarded by g_busy
char g_problem[160];

/// What the callback gives the patches for launches of this thread; null: nothing.
thread_local const void* t_marks = nullptr;
thread_local bool t_announced = false;

void on_callback(void*, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
  if (domain == SANITIZER_CB_DOMAIN_RESOURCE && id == SANITIZER_CBID_RESOURCE_MODULE_LOADED) {
    const auto& module = *static_cast<const Sanitizer_ResourceModuleData*>(data);
    if (module.pCubin) note_tensor_code(module.pCubin, module.cubinSize);
    return;
  }
  if (domain != SANITIZER_CB_DOMAIN_LAUNCH || id != SANITIZER_CBID_LAUNCH_AFTER_SYSCALL_SETUP) return;
  const auto& launch = *static_cast<const Sanitizer_LaunchData*>(data);
  // Launches of other threads, too, may run the patched code; they are told to mark nothing.
  if (g_api.set_launch_data(launch.hLaunch, launch.function, launch.hStream, t_marks) == SANITIZER_SUCCESS && t_marks)
    t_announced = true;
}

std::uint64_t now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
}

/// Our own calls must not end a capture that another thread has under way.
class RelaxedCapture {
 public:
  RelaxedCapture() { g_driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { g_driver.cuThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

Context* context_of(CUstream stream) {
  CUcontext handle = nullptr;
  const bool special = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD || !stream;
  const CUresult result = special ? g_driver.cuCtxGetCurrent(&handle) : g_driver.cuStreamGetCtx(stream, &handle);
  if (result != CUDA_SUCCESS || !handle) return nullptr;
  for (Context& context : g_contexts) {
    if (context.handle == handle) return &context;
    if (!context.handle) {
      context.handle = handle;
      return &context;
    }
  }
  return nullptr;
}

const char* sanitizer_problem(const char* what, SanitizerResult result) {
  std::snprintf(g_problem, sizeof g_problem, "%s failed with error %d", what, static_cast<int>(result));
  return g_problem;
}

/// Runs on the worker. Everything here may wait for the GPU.
const char* patch_module(Current& current) {
  if (g_driver.cuCtxSetCurrent(current.context->handle) != CUDA_SUCCESS) return "its context is gone";
  const RelaxedCapture relaxed;
  if (g_driver.cuCtxSynchronize() != CUDA_SUCCESS) return "its context is in error";
  if (!current.context->patches_added) {
    const SanitizerResult added = g_api.add_patches(streamsan_patch_image, current.context->handle);
    if (added != SANITIZER_SUCCESS) return sanitizer_problem("adding the patches", added);
    current.context->patches_added = true;
  }
  current.function = static_cast<CUfunction>(current.handle);
  if (current.is_kernel) {
    if (g_driver.cuKernelGetFunction(&current.function, static_cast<CUkernel>(current.handle)) != CUDA_SUCCESS)
      return "the driver does not tell its function";
  }
  // A function that is loaded at its launch would be patched inside of it.
  if (g_driver.cuFuncLoad(current.function) != CUDA_SUCCESS ||
      g_driver.cuFuncGetModule(&current.module, current.function) != CUDA_SUCCESS) {
    return "the driver does not tell its module";
  }
  for (const Patch& patch : kPatches) {
    const SanitizerResult chosen = g_api.patch_instructions(patch.instruction, current.module, patch.function);
    if (chosen != SANITIZER_SUCCESS) return sanitizer_problem("choosing what to patch", chosen);
  }
  const SanitizerResult patched = g_api.patch_module(current.module);
  if (patched != SANITIZER_SUCCESS) return sanitizer_problem("patching its module", patched);
  current.patched = true;
  return nullptr;
}

void unpatch() {
  // The module may be gone by now.
  if (g_current.patched) g_api.unpatch_module(g_current.module);
  g_current.patched = false;
}

void release() { g_busy.store(false, std::memory_order_release); }

void prepare_job(void*) {
  g_current.problem = patch_module(g_current);
  Stage expected = Stage::Preparing;
  if (g_current.stage.compare_exchange_strong(expected, Stage::Ready)) return;
  unpatch();
  release();
}

/// The kernel did not end in time: waits for it, however long that takes, and throws the marks away.
void late_job(void*) {
  g_driver.cuCtxSetCurrent(g_current.context->handle);
  {
    const RelaxedCapture relaxed;
    g_driver.cuEventSynchronize(g_current.context->event);
    unpatch();
    g_current.context->marks.read(g_driver, g_runs);
  }
  release();
}

const char* start(const StreamSanHost* host) {
  if (host->version != kStreamSanAgentVersion) return "agent and recorder are of different versions";
  g_host = *host;
  if (!g_driver.find(g_host)) return "the driver is too old (CUDA 12.4 or later is needed)";
  if (const char* problem = load_sanitizer(g_host.sanitizer_library, g_api)) return problem;
  const SanitizerResult subscribed = g_api.subscribe(&g_subscriber, on_callback, nullptr);
  if (subscribed != SANITIZER_SUCCESS) return sanitizer_problem("subscribing to the Sanitizer", subscribed);
  g_api.enable_callback(1, g_subscriber, SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CBID_RESOURCE_MODULE_LOADED);
  return nullptr;
}

StreamSanOutcome begin(const StreamSanLaunch* launch) {
  if (g_busy.exchange(true, std::memory_order_acquire)) return kStreamSanBusy;
  g_current.problem = nullptr;
  g_current.stream = static_cast<CUstream>(launch->stream);
  g_current.context = context_of(g_current.stream);
  g_current.handle = launch->function;
  g_current.is_kernel = launch->is_kernel != 0;
  g_current.name = launch->name;
  g_current.stage.store(Stage::Preparing);
  if (!g_current.context) {
    release();
    return kStreamSanFailed;
  }
  if (!g_worker.run(prepare_job, nullptr, g_host.patience_ms)) {
    Stage expected = Stage::Preparing;
    if (g_current.stage.compare_exchange_strong(expected, Stage::Abandoned)) return kStreamSanLate;
  }
  const RelaxedCapture relaxed;
  if (!g_current.problem) g_current.problem = g_current.context->marks.prepare(g_driver, g_host.most_bytes);
  // Kernels that cannot be measured are told apart from measurements by end(), which knows the reason.
  if (!g_current.problem) {
    t_marks = g_current.context->marks.on_device();
    t_announced = false;
    const SanitizerResult listening = g_api.enable_domain(1, g_subscriber, SANITIZER_CB_DOMAIN_LAUNCH);
    if (listening != SANITIZER_SUCCESS) g_current.problem = sanitizer_problem("listening to launches", listening);
  }
  return kStreamSanMeasured;
}

/// Waits for what was enqueued in the stream up to now.
enum class Wait { Done, Late, Error };
Wait wait_for_kernel() {
  Context& context = *g_current.context;
  if (!context.event && g_driver.cuEventCreate(&context.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return Wait::Error;
  if (g_driver.cuEventRecord(context.event, g_current.stream) != CUDA_SUCCESS) return Wait::Error;
  const std::uint64_t deadline = now_ms() + g_host.patience_ms;
  for (unsigned turn = 0;; ++turn) {
    const CUresult result = g_driver.cuEventQuery(context.event);
    if (result == CUDA_SUCCESS) return Wait::Done;
    if (result != CUDA_ERROR_NOT_READY) return Wait::Error;
    if (now_ms() > deadline) return Wait::Late;
    if (turn < 50) continue;
    const timespec nap{0, turn < 1000 ? 20'000 : 200'000};
    nanosleep(&nap, nullptr);
  }
}

StreamSanMeasurement give_up(StreamSanOutcome outcome, const char* reason) {
  unpatch();
  release();
  return {outcome, reason, nullptr, 0};
}

StreamSanMeasurement end(int succeeded) {
  const RelaxedCapture relaxed;
  const bool listened = t_marks != nullptr;
  t_marks = nullptr;
  if (listened) g_api.enable_domain(0, g_subscriber, SANITIZER_CB_DOMAIN_LAUNCH);
  if (g_current.problem) return give_up(kStreamSanFailed, g_current.problem);
  if (!succeeded) return give_up(kStreamSanFailed, nullptr);
  if (!t_announced) {
    if (++g_unannounced < kMostUnannounced) return give_up(kStreamSanFailed, nullptr);
    return give_up(kStreamSanDead,
                   "another tool receives the driver's callbacks (CUPTI: a profiler?), and the two exclude each other");
  }
  g_unannounced = 0;
  switch (wait_for_kernel()) {
    case Wait::Done:
      break;
    case Wait::Late:
      g_worker.run(late_job, nullptr, 0);
      return {kStreamSanLate, nullptr, nullptr, 0};
    case Wait::Error:
      return give_up(kStreamSanFailed, nullptr);  // the guest will meet the error in its own next call
  }
  unpatch();
  const DeviceMarks::Read read = g_current.context->marks.read(g_driver, g_runs);
  const bool at_limit = g_current.context->marks.at_limit();
  if (read == DeviceMarks::Read::Failed) return give_up(kStreamSanFailed, "its marks could not be read");
  if (read == DeviceMarks::Read::Overflow) {
    return give_up(kStreamSanTooLarge,
                   at_limit ? "it touches more memory than the marks have room for (footprint_memory)" : nullptr);
  }
  StreamSanMeasurement out{kStreamSanMeasured, nullptr, nullptr, 0};
  out.ranges = g_runs.finish(out.count);
  if (g_runs.full()) {
    out = {kStreamSanIncomplete, "its bytes are in too many pieces", out.ranges, out.count};
  } else if (uses_tensor_maps(g_current.name)) {
    out = {kStreamSanIncomplete, "it moves memory by tensor maps, which the Sanitizer does not show", out.ranges,
           out.count};
  }
  release();
  return out;
}

void forget() {
  // The parent's GPU is not ours. What it had in flight never ends here.
  g_worker.forget();
  new (&g_current) Current();
  for (Context& context : g_contexts) new (&context) Context();
  g_subscriber = {};
  release();
}

constexpr StreamSanAgent kAgent = {kStreamSanAgentVersion, start, begin, end, forget};

}  // namespace
}  // namespace streamsan::footprints

extern "C" __attribute__((visibility("default"))) const StreamSanAgent* streamsan_agent(void) {
  return &streamsan::footprints::kAgent;
}
