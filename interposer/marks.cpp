// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/marks.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/fork.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

using trace::HostWaitsState;
using trace::Kind;

constexpr unsigned kLevels = 2;
constexpr std::size_t kLongestMark = 2000;

// The last mark of each level, for a trace that has not begun.
// A fork keeps g_early_marks: the child is in the same part.
constinit char g_early_marks[kLevels][kLongestMark + 1] = {};
constinit std::atomic_flag g_early_lock = ATOMIC_FLAG_INIT;
// A fork keeps t_host_waits: the thread is the same.
constinit thread_local HostWaitsState t_host_waits __attribute__((tls_model("initial-exec"))) =
    HostWaitsState::Unwatched;
constinit std::atomic<std::uint64_t> g_questions{0};

struct EarlyLock {
  EarlyLock() {
    while (g_early_lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~EarlyLock() { g_early_lock.clear(std::memory_order_release); }
  EarlyLock(const EarlyLock&) = delete;
  EarlyLock& operator=(const EarlyLock&) = delete;
};

void write_mark(unsigned level, const char* name, std::size_t length) {
  write_text<Kind::Mark>({static_cast<trace::MarkLevel>(level), 0}, &trace::Words<Kind::Mark>::name_bytes, name,
                         length);
}

void write_host_waits(HostWaitsState state, const void* frame) {
  const std::uint32_t stack = capture_stack(frame);
  Slot slot = start_record({.kind = Kind::HostWaits, .stack = stack});
  if (!slot) return;
  slot.record->as<Kind::HostWaits>().state = state;
  publish(slot);
}

}  // namespace

void mark(unsigned level, const char* name) {
  if (level >= kLevels) return;
  if (!name) name = "";
  const std::size_t length = strnlen(name, kLongestMark);
  {
    EarlyLock lock;
    std::memcpy(g_early_marks[level], name, length);
    g_early_marks[level][length] = '\0';
  }
  if (recording()) write_mark(level, name, length);
}

void say_host_waits(unsigned state) {
  if (state > static_cast<unsigned>(HostWaitsState::Allowed)) return;
  t_host_waits = static_cast<HostWaitsState>(state);
  if (recording()) write_host_waits(t_host_waits, __builtin_frame_address(0));
}

int ask(char* path, std::size_t room) {
  if (!recording() || !path || room == 0) return 0;
  const trace::FileHeader* head = header();
  if (!head) return 0;
  if (!is_judged_live()) {
    const int length = std::snprintf(path, room, "%s", trace_path());
    return length > 0 && static_cast<std::size_t>(length) < room ? 2 : 0;
  }
  const std::uint64_t number = g_questions.fetch_add(1, std::memory_order_relaxed) + 1;
  const int length = std::snprintf(path, room, "%s.answer.%llu", trace_path(), static_cast<unsigned long long>(number));
  if (length <= 0 || static_cast<std::size_t>(length) >= room) return 0;
  Slot slot = start_record({.kind = Kind::Ask});
  if (!slot) return 0;
  slot.record->as<Kind::Ask>().number = number;
  publish(slot);
  return 1;
}

std::uint64_t position() {
  const trace::FileHeader* head = recording() ? header() : nullptr;
  return head ? head->reserved.load(std::memory_order_relaxed) : 0;
}

void write_early_marks() {
  for (unsigned level = 0; level < kLevels; ++level) {
    EarlyLock lock;
    if (const std::size_t length = std::strlen(g_early_marks[level])) write_mark(level, g_early_marks[level], length);
  }
  if (t_host_waits != HostWaitsState::Unwatched) write_host_waits(t_host_waits, __builtin_frame_address(0));
}

void in_child::marks() {
  g_early_lock.clear();
  g_questions.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
