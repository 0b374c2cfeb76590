// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/tests/libc/recorder_stub.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "interposer/driver.h"
#include "interposer/host/freeable.h"
#include "interposer/host/libc_frames.h"
#include "interposer/host/loans.h"
#include "interposer/process.h"
#include "interposer/threads/channels.h"

namespace streamsan {
namespace {

constexpr std::size_t kMostReported = 256;
testing::Recorded g_recorded[kMostReported];
std::atomic<std::size_t> g_recorded_count{0};

std::atomic<char*> g_guarded{nullptr};
std::size_t g_guarded_bytes = 0;

std::atomic<bool> g_in_driver{false};
recorder::Options g_options{};

void unguard(const void* begin, std::size_t bytes) {
  char* guarded = g_guarded;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const auto guarded_from = reinterpret_cast<std::uintptr_t>(guarded);
  const bool everything = !begin && bytes == ~std::size_t{0};
  if (!guarded || (!everything && (from >= guarded_from + g_guarded_bytes || guarded_from >= from + bytes))) return;
  mprotect(guarded, g_guarded_bytes, PROT_READ | PROT_WRITE);
  g_guarded = nullptr;
}

void tell(const testing::Recorded& recorded) {
  const std::size_t at = g_recorded_count++;
  if (at < kMostReported) g_recorded[at] = recorded;
  unguard(recorded.begin, recorded.bytes);
  errno = 12345;  // no test is to find it
}

testing::Recorded named(testing::Recorded recorded, const char* function, const void* frame) {
  std::strncpy(recorded.function, function, sizeof recorded.function - 1);
  if (frame) recorded.caller = static_cast<const void* const*>(frame)[1];
  return recorded;
}

}  // namespace

namespace recorder {

constinit std::atomic<std::uint32_t> detail::g_loans{0};
constinit std::atomic<std::uint32_t> detail::g_orders{0};  // nobody follows order here

constinit thread_local ThreadState t_thread __attribute__((tls_model("initial-exec"))) = {};

void hide_order() {}
void release_order(std::uint64_t, Context) {}
void acquire_order(std::uint64_t, Context) {}
constinit std::atomic<std::uint32_t> detail::g_channels[kMostDescriptors] = {};
constinit std::atomic<std::uint32_t> detail::g_mappings{0};
constinit detail::Freeable detail::g_freeable{};
[[gnu::constructor]] static void expect_loans_anywhere() { testing::set_freeable(nullptr, ~std::size_t{0}); }

void before_host_call(const void* begin, std::size_t bytes, bool writes, const char* function, const void* frame) {
  tell(named({testing::What::Call, begin, bytes, writes, {}, {}, {}}, function, frame));
}
void before_host_free(const void* begin, std::size_t bytes, trace::HostFreeWay way, const char* function,
                      const void* frame) {
  tell(named({testing::What::Free, begin, bytes, false, way, {}, {}}, function, frame));
}
void guard_no_more(std::uint64_t, std::uint64_t) {}
void before_host_mapping(const void* begin, std::size_t bytes) {
  tell({testing::What::Mapping, begin, bytes, false, {}, {}, {}});
}

void* real_dlsym(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  asm volatile("" : "+r"(found));  // no jump: dlsym looks at who calls
  return found;
}
bool is_in_driver(const void*) { return g_in_driver; }
const Options& options() { return g_options; }

}  // namespace recorder

namespace testing {

void set_lent(bool lent) { recorder::detail::g_loans = recorder::detail::g_mappings = lent; }
void set_freeable(const void* begin, std::size_t bytes) {
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  recorder::detail::g_freeable.clear();
  if (bytes) recorder::detail::g_freeable.add(from, from + bytes);
}
void guard(void* begin, std::size_t bytes) {
  mprotect(begin, bytes, PROT_NONE);
  g_guarded_bytes = bytes;
  g_guarded = static_cast<char*>(begin);
}
void set_in_driver(bool in_driver) { g_in_driver = in_driver; }
void set_host_frees(bool wanted) { g_options.host_frees = wanted; }
void forget_recorded() { g_recorded_count = 0; }
std::size_t recorded_count() { return g_recorded_count; }
const Recorded& recorded(std::size_t index) { return g_recorded[index]; }
long write_from_recorder(int descriptor, const void* bytes, std::size_t count) {
  long done = ::write(descriptor, bytes, count);
  asm volatile("" : "+r"(done));
  return done;
}
void note_stack_loan(const void* begin, std::size_t bytes, const void* callers_stack) {
  recorder::note_stack_loan(begin, bytes, callers_stack);
}
void check_frames(const void* callers_stack) { recorder::check_frames(callers_stack); }

}  // namespace testing
}  // namespace streamsan
