// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/threads/names.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "interposer/fork.h"
#include "interposer/keep_errno.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/threads/order.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

using Name = char[kThreadNameBytes];

/// A thread that has made a record and has not ended.
struct Named {
  std::atomic<bool> taken;
  bool first;  ///< the process began with it
  std::uint16_t number;
  int id;  ///< the kernel's
  ThreadOrigin origin;
  Name written;  ///< what the trace has; empty: no name
};

constexpr std::size_t kMostNamed = 512;
constinit Named g_named[kMostNamed] = {};

struct Mine {
  ThreadOrigin origin;
  Named* named;    ///< null: it has made no record, or there was no room
  bool unwritten;  ///< the trace knows nothing of it yet
};
// A fork keeps t_mine: in_child::thread_names() clears the one thread's that is left.
constinit thread_local Mine t_mine __attribute__((tls_model("initial-exec"))) = {};

constexpr std::uint16_t kNumberOfMany = 0xffff;

void read_own(Name& out) {
  out[0] = '\0';
  prctl(PR_GET_NAME, out);
  out[sizeof out - 1] = '\0';
}

/// Of another thread, or "self": the first one. Empty if it has gone.
void read_name(const char* path, Name& out) {
  out[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = read(file, out, sizeof out - 1);
  close(file);
  out[length > 0 ? length : 0] = '\0';
  if (length > 0 && out[length - 1] == '\n') out[length - 1] = '\0';
}

bool is_programs(const Name& name) {
  const auto* path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (!path) return false;
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(name, slash ? slash + 1 : path, sizeof name - 1) == 0;
}

bool is_its_own(const Name& name, const ThreadOrigin& origin, bool first) {
  if (!name[0]) return false;
  if (origin.function) return std::strcmp(name, origin.inherited) != 0;
  if (is_programs(name)) return false;
  if (first) return true;
  Name firsts;
  read_name("/proc/self/comm", firsts);
  return std::strcmp(name, firsts) != 0;
}

/// `known.written` is its name. Any thread may say it.
void write(const Named& known) {
  const std::string_view name = known.written;
  const std::string_view function = known.origin.function ? known.origin.function : "";
  const std::size_t bytes = name.size() + function.size();
  const Slot slot = reserve(continuations_of(bytes));
  if (!slot) return;
  slot.record->kind = trace::Kind::HostThread;
  slot.record->thread = known.number;
  slot.record->stack = known.origin.stack;
  auto& w = slot.record->as<trace::Kind::HostThread>();
  w.first = known.first ? 1 : 0;
  w.name_bytes = name.size();
  w.function_bytes = function.size();
  char* payload = reinterpret_cast<char*>(slot.continuation());
  std::memcpy(payload, name.data(), name.size());
  std::memcpy(payload + name.size(), function.data(), function.size());
  publish(slot);
}

/// Writes the name if it is news.
void look_again(Named& known, const Name& name) {
  if (std::strcmp(name, known.written) == 0 || !is_its_own(name, known.origin, known.first)) return;
  std::memcpy(known.written, name, sizeof name);
  write(known);
}

void fill(Named& known, std::uint16_t number) {
  known.id = static_cast<int>(syscall(SYS_gettid));
  known.first = known.id == getpid();
  known.number = number;
  known.origin = t_mine.origin;
  Name name;
  read_own(name);
  if (!is_its_own(name, known.origin, known.first)) name[0] = '\0';
  std::memcpy(known.written, name, sizeof name);
}

}  // namespace

void in_child::thread_names() {
  t_mine = {};
  for (Named& each : g_named) each.taken.store(false, std::memory_order_relaxed);
}

ThreadOrigin origin_of_next_thread(const char* function, const void* frame) {
  ThreadOrigin out{};
  if (!recording()) return out;
  const KeepErrno keep;
  out.stack = capture_stack(frame);
  out.function = function;
  read_own(out.inherited);
  return out;
}

void take_origin(const ThreadOrigin& origin) { t_mine.origin = origin; }

void name_thread(std::uint16_t number) {
  if (number == kNumberOfMany) return;
  t_mine.unwritten = true;
  t_order.unwritten = true;
  // Without a look at its end a later thread would be taken for it.
  if (!watch_end(Context::PerhapsSignalHandler)) return;
  const KeepErrno keep;
  for (Named& each : g_named) {
    bool taken = each.taken.load(std::memory_order_relaxed);
    if (taken || !each.taken.compare_exchange_strong(taken, true)) continue;
    fill(each, number);
    t_mine.named = &each;
    return;
  }
}

void write_thread_name() {
  const std::uint16_t number = thread_number();
  if (!t_mine.unwritten) return;
  t_mine.unwritten = false;
  t_order.unwritten = false;  // by thread_number()
  const KeepErrno keep;
  Named now{};
  if (!t_mine.named) fill(now, number);
  const Named& known = t_mine.named ? *t_mine.named : now;
  if (known.first || known.origin.stack != 0 || known.written[0]) write(known);
}

void end_thread_name() {
  Named* known = t_mine.named;
  t_mine = {};
  if (!known) return;
  Name name;
  read_own(name);
  look_again(*known, name);
  known->taken.store(false, std::memory_order_release);
}

void write_late_names() {
  for (Named& each : g_named) {
    if (!each.taken.load(std::memory_order_acquire)) continue;
    const std::uint16_t number = each.number;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", each.id);
    Name name;
    read_name(path, name);
    // It may have ended meanwhile, and another thread have its place.
    if (each.taken.load(std::memory_order_acquire) && each.number == number) look_again(each, name);
  }
}

}  // namespace streamsan::recorder
