// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/tests/recorder_stub.h"

#include <dlfcn.h>

#include <algorithm>
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

// No heap: the fault handler comes here.
constexpr std::size_t kMost = 4096;
testing::KeptRecord g_records[kMost];
std::atomic<std::size_t> g_used{0};

}  // namespace

std::vector<testing::KeptRecord> testing::take_records() {
  const std::size_t used = std::min(g_used.exchange(0), kMost);
  return {g_records, g_records + used};
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

void write_text_record(trace::Kind kind, const std::uint64_t* words, unsigned length_word, const char*,
                       std::size_t length, const void*, std::size_t, std::uint32_t) {
  const std::size_t at = g_used.fetch_add(1);
  if (at >= kMost) return;
  g_records[at].kind = kind;
  std::memcpy(g_records[at].w, words, sizeof g_records[at].w);
  g_records[at].w[length_word] = length;
}
Slot reserve(unsigned) {
  static constinit thread_local trace::Record record{};
  std::memset(record.w, 0, sizeof record.w);
  return {&record, 0};
}
void publish(Slot slot, trace::State) {
  if (slot.record) write_text_record(slot.record->kind, slot.record->w, 5, "", 0, nullptr, 0, 0);
}
std::uint16_t thread_number() { return 1; }
std::uint32_t capture_stack(const void*) { return 0; }
std::uint32_t capture_interrupted_stack(std::uint64_t) { return 0; }
bool is_in_driver(const void*) { return false; }
void unblock_faults() {}
void* find_next(const char* name) { return dlsym(RTLD_DEFAULT, name); }
/// Streams with odd handles are non-blocking.
bool is_non_blocking(std::uint64_t handle) { return handle % 2 == 1; }
/// Those from 4096 on are of another context.
std::uint64_t context_of(const StreamArgument& stream) {
  return stream.context ? stream.context : stream.handle < 4096 ? 7 : 8;
}

}  // namespace recorder
}  // namespace streamsan
