// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/tests/recorder_stub.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "interposer/driver.h"
#include "interposer/host/faults.h"
#include "interposer/host/libc_call.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/writer.h"

namespace streamsan {
namespace {

// Slots of one record and its continuations each. No heap: the fault handler comes here.
constexpr std::size_t kMost = 4096;
constexpr std::size_t kSlots = 8;
trace::Record g_slots[kMost][kSlots];
std::atomic<std::size_t> g_used{0};

}  // namespace

std::vector<testing::KeptRecord> testing::take_records() {
  std::vector<KeptRecord> out;
  const std::size_t used = std::min(g_used.exchange(0), kMost);
  for (std::size_t i = 0; i < used; ++i) {
    KeptRecord kept{g_slots[i][0].kind, {}};
    std::memcpy(kept.w, g_slots[i][0].w, sizeof kept.w);
    out.push_back(kept);
  }
  return out;
}

namespace recorder {

constinit thread_local ThreadState t_thread __attribute__((tls_model("initial-exec"))) = {};
namespace detail {
constinit std::atomic<Mode> g_mode{Mode::On};
namespace {
constinit const std::uint32_t g_always = 1;
}
constinit std::atomic<const volatile std::uint32_t*> g_same_process{&g_always};
}  // namespace detail

Slot reserve(unsigned continuations) {
  const std::size_t at = g_used.fetch_add(1);
  if (at >= kMost || continuations >= kSlots) return {};
  std::memset(static_cast<void*>(g_slots[at]), 0, sizeof g_slots[at]);
  return {&g_slots[at][0], at};
}
void publish(Slot, trace::State) {}
std::uint16_t thread_number() { return 1; }
std::uint32_t capture_stack(const void*) { return 0; }
std::uint32_t capture_interrupted_stack(std::uint64_t) { return 0; }
bool is_in_driver(const void*) { return false; }
void unblock_faults() {}
void* find_next(const char* name) { return dlsym(RTLD_DEFAULT, name); }
/// Streams with odd handles are non-blocking.
bool is_non_blocking(std::uint64_t handle) { return handle % 2 == 1; }

}  // namespace recorder
}  // namespace streamsan
