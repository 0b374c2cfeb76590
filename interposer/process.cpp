// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/process.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "interposer/annotations.h"
#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/host/faults.h"
#include "interposer/host/host_hash.h"
#include "interposer/host/host_side.h"
#include "interposer/host/loans.h"
#include "interposer/hot.h"
#include "interposer/learning.h"
#include "interposer/marks.h"
#include "interposer/perturb.h"
#include "interposer/poison.h"
#include "interposer/python_stack.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/threads/names.h"
#include "interposer/threads/order.h"
#include "interposer/timing.h"
#include "interposer/unmodelled.h"
#include "interposer/writer.h"
#include "trace/pages.h"

/// Of glibc 2.32. strerror() and strerror_r() translate, for which they may allocate.
extern "C" [[gnu::weak]] const char* strerrordesc_np(int error) noexcept;

namespace streamsan::recorder {

// A fork keeps t_thread: what it remembers belongs to an epoch. And g_same_process, page: the kernel wipes the page.
// And g_fork_handlers, g_observed: inherited.
constinit thread_local ThreadState t_thread __attribute__((tls_model("initial-exec"))) = {};

namespace detail {
STREAMSAN_HOT_DATA constinit std::atomic<Mode> g_mode{Mode::Cold};
namespace {
constinit const std::uint32_t g_always = 1;
}
STREAMSAN_HOT_DATA constinit std::atomic<const volatile std::uint32_t*> g_same_process{&g_always};
}  // namespace detail

namespace {

using detail::g_mode;
using detail::Mode;

STREAMSAN_HOT_TABLE constinit Options g_options{};
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_epoch{1};
constinit std::atomic<std::uint32_t> g_threads{0};
constinit std::atomic<bool> g_fork_handlers{false};
constinit std::atomic<bool> g_exiting{false};
constinit std::atomic<bool> g_observed{false};  // calls were seen, in this process or before it was forked

// A fork keeps g_trace_path: the child that records opens a trace of its own.
constinit char g_trace_path[1060] = {};

/// Was the trace's folder made by the launcher, which judges the trace? Its name: cli/preload.cpp.
bool is_launchers(const char* path) {
  const char* folder = std::strstr(path, "/streamsan.");
  return folder && std::strchr(folder + 1, '/');
}

/// What an error number means, or in `room` the number.
const char* describe_error(int error, char (&room)[32]) {
  const char* words = strerrordesc_np ? strerrordesc_np(error) : nullptr;
  if (words) return words;
  std::snprintf(room, sizeof room, "error %d", error);
  return room;
}

void expand_path(char (&out)[1060], const char* pattern, int attempt) {
  std::size_t used = 0;
  for (const char* at = pattern; *at && used + 16 < sizeof out; ++at) {
    if (at[0] == '%' && at[1] == 'p') {
      used += static_cast<std::size_t>(std::snprintf(out + used, sizeof out - used, "%d", static_cast<int>(getpid())));
      ++at;
    } else {
      out[used++] = *at;
    }
  }
  out[used] = '\0';
  // A process that replaced itself by exec has the same id, and its earlier trace must stay.
  if (attempt == 0) return;
  char* suffix = std::strrchr(out, '.');
  if (!suffix || std::strchr(suffix, '/')) suffix = out + used;
  char tail[64];
  std::snprintf(tail, sizeof tail, "%s", suffix);
  std::snprintf(suffix, sizeof out - static_cast<std::size_t>(suffix - out), ".%d%s", attempt, tail);
}

int open_numbered_trace(char (&path)[1060]) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    expand_path(path, g_options.trace_path, attempt);
    int error = open_trace(path);
    if (error != EEXIST) return error;
  }
  return EEXIST;
}

/// Makes the page behind g_same_process. Where the kernel cannot wipe it, copies made without fork handlers are not
/// distinguished.
void mark_process() {
  static constinit std::uint32_t* page = nullptr;
  if (!page) {
    void* made = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return;
    if (madvise(made, page_bytes(), MADV_WIPEONFORK) != 0) {
      munmap(made, page_bytes());
      return;
    }
    page = static_cast<std::uint32_t*>(made);
  }
  *page = 1;
  detail::g_same_process.store(page, std::memory_order_release);
}

/// Writes for the launcher why this process has no trace; it made the directory, and a link needs no room. `what`: the
/// suffix by which cli/run.cpp knows the kind of reason.
void leave_reason(const char* path, const char* what, const char* reason) {
  char link[1100];
  std::snprintf(link, sizeof link, "%s", path);
  char* suffix = std::strstr(link, "/streamsan.") ? std::strrchr(link, '.') : nullptr;
  if (!suffix || std::strcmp(suffix, ".trace") != 0) return;
  std::snprintf(suffix, sizeof link - static_cast<std::size_t>(suffix - link), ".%s", what);
  [[maybe_unused]] int done = symlink(reason, link);
}

/// The same for a process that has opened no trace.
void leave_reason(const char* what, const char* reason) {
  char path[1060];
  expand_path(path, g_options.trace_path, 0);
  leave_reason(path, what, reason);
}

}  // namespace

void in_child::process() {
  g_exiting.store(false);
  g_epoch.fetch_add(1, std::memory_order_relaxed);
  g_threads.store(0, std::memory_order_relaxed);
  if (g_mode.load() != Mode::Off) g_mode.store(g_options.follow_children ? Mode::Cold : Mode::Off);
}

namespace {

void write_line(const char* text, std::size_t length) {
  while (length > 0) {
    ssize_t done = write(STDERR_FILENO, text, length);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    text += done;
    length -= static_cast<std::size_t>(done);
  }
}

std::size_t format_line(char (&line)[1024], const char* format, va_list arguments) {
  int prefix = std::snprintf(line, sizeof line, "streamsan[%d]: ", static_cast<int>(getpid()));
  int body = std::vsnprintf(line + prefix, sizeof line - static_cast<std::size_t>(prefix) - 1, format, arguments);
  std::size_t length = static_cast<std::size_t>(prefix) + static_cast<std::size_t>(body > 0 ? body : 0);
  if (length > sizeof line - 2) length = sizeof line - 2;
  // Names and paths are in it: none may begin a line, which could be a command to a CI service.
  for (char& c : std::span(line, length)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  line[length] = '\n';
  return length + 1;
}

/// CUDA is in use when this process holds a device file of the driver open.
bool holds_device_file() {
  DIR* directory = opendir("/proc/self/fd");
  if (!directory) return false;
  bool found = false;
  while (dirent* entry = readdir(directory)) {
    char link[300];
    char target[300];
    std::snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (std::strstr(target, "/dev/nvidia")) found = true;
  }
  closedir(directory);
  return found;
}

/// Runs after the guest's own destructors. No CUDA call is made here: the driver may be gone.
__attribute__((destructor)) void finish() {
  Mode mode = g_mode.load(std::memory_order_acquire);
  if (mode == Mode::Cold && !g_observed.load() && driver_is_loaded() && holds_device_file()) {
    say("warning: CUDA is in use in this process but unobserved: the driver is loaded and none of its calls came "
        "through StreamSan (RTLD_DEEPBIND, a static dlsym, or another tool in between); nothing was checked. "
        "`streamsan doctor` tells more");
    leave_reason(
        "unobserved",
        "CUDA is in use, and none of its calls came through StreamSan (RTLD_DEEPBIND, a static dlsym, or another "
        "tool in between)");
    return;
  }
  if (!recording()) return;
  end_loans_with_process();
  write_unmodelled_counts();
  write_late_names();
  say_delays();
  say_if_no_python();
  if (trace::FileHeader* head = header()) {
    std::uint32_t running = static_cast<std::uint32_t>(trace::End::Running);
    head->end.compare_exchange_strong(running, static_cast<std::uint32_t>(trace::End::Exited));
  }
  // Nobody else says where it is.
  if (!is_launchers(g_trace_path)) say("trace written to %s: streamsan check %s", g_trace_path, g_trace_path);
}

/// LD_PRELOAD is inherited by every child. If the user wants only this process, hide ourselves from the environment.
__attribute__((constructor)) void leave_children_alone() {
  read_options(g_options);
  if (g_options.follow_children) return;
  const char* list = std::getenv("LD_PRELOAD");
  if (!list) return;
  char kept[4096];
  std::size_t used = 0;
  bool preloaded = false;
  while (*list) {
    std::size_t length = std::strcspn(list, ": ");
    bool ours = length >= 15 && std::memcmp(list + length - 15, "libstreamsan.so", 15) == 0;
    preloaded |= ours;
    if (length > 0 && !ours && used + length + 2 < sizeof kept) {
      if (used) kept[used++] = ':';
      std::memcpy(kept + used, list, length);
      used += length;
    }
    list += length;
    while (*list == ':' || *list == ' ') ++list;
  }
  kept[used] = '\0';
  // A child that is not to be followed, where NVTX has loaded us: nobody expects that it is observed.
  if (!preloaded) note_observed();
  if (used) {
    setenv("LD_PRELOAD", kept, 1);
  } else {
    unsetenv("LD_PRELOAD");
  }
}

}  // namespace

void note_observed() {
  if (!g_observed.load(std::memory_order_relaxed)) g_observed.store(true, std::memory_order_relaxed);
}

void note_failed_start(int result) {
  if (g_mode.load() != Mode::Cold) return;
  char reason[64];
  std::snprintf(reason, sizeof reason, "cuInit failed with error %d", result);
  read_options(g_options);
  leave_reason("idle", reason);
}

bool start_recording() {
  // A copy of the process that ran no fork handlers.
  if (g_mode.load() == Mode::On && !recording()) in_child::renew();
  for (;;) {
    Mode cold = Mode::Cold;
    if (g_mode.compare_exchange_strong(cold, Mode::Starting, std::memory_order_acq_rel)) break;
    if (cold == Mode::On) return true;
    if (cold == Mode::Off) return false;
    // Another thread is opening the file; it waits for nothing that this thread could hold.
    sched_yield();
  }
  read_options(g_options);
  if (!g_fork_handlers.exchange(true)) {
    pthread_atfork(loans_are_copied, nullptr, in_child::renew);
    if (g_options.syncs) std::atexit([] { g_exiting.store(true); });
  }
  char path[1060];
  int error = open_numbered_trace(path);
  if (error) {
    char why[1200];
    std::snprintf(why, sizeof why, "cannot write the trace %s", path);
    char room[32];
    leave_reason(path, "failed", describe_error(error, room));
    disable_recording(why, error);
    return false;
  }
  std::memcpy(g_trace_path, path, sizeof path);
  resolve_entries();
  look_at_devices();
  mark_process();
  start_perturbing();
  start_poisoning();
  start_hashing();
  start_order();
  g_mode.store(Mode::On, std::memory_order_release);
  // Takes the loader's lock, which a thread that waits above may hold.
  look_for_python();
  start_learning();
  start_timing();
  if (g_options.verbosity >= 2) say("recording to %s", path);
  report_early_annotations();
  write_early_marks();
  return true;
}

void disable_recording(const char* why, int error) {
  if (g_mode.exchange(Mode::Off) == Mode::Off) return;
  end_all_loans();
  if (!why) return;
  if (error) {
    char room[32];
    say("disabled: %s: %s; the program goes on unchecked from here", why, describe_error(error, room));
  } else {
    say("disabled: %s; the program goes on unchecked from here", why);
  }
}

const char* trace_path() { return g_trace_path; }

bool is_judged_live() {
  const trace::FileHeader* head = header();
  return is_launchers(g_trace_path) || (head && head->judge_attached.load(std::memory_order_relaxed) != 0);
}

bool is_exiting() { return g_exiting.load(std::memory_order_relaxed); }

STREAMSAN_HOT_CODE std::uint32_t process_epoch() { return g_epoch.load(std::memory_order_relaxed); }

STREAMSAN_HOT_CODE std::uint16_t thread_number() {
  ThreadState& me = t_thread;
  if (me.epoch == process_epoch() && me.number) [[likely]]
    return me.number;
  me.epoch = process_epoch();
  me.stream = 0;
  std::uint32_t number = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  me.number = static_cast<std::uint16_t>(number < 0xffff ? number : 0xffff);
  name_thread(me.number);
  return me.number;
}

STREAMSAN_HOT_CODE const Options& options() { return g_options; }

void say(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::size_t length = format_line(line, format, arguments);
  va_end(arguments);
  write_line(line, length);
}

void warn(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  std::size_t length = format_line(line, format, arguments);
  va_end(arguments);
  write_line(line, length);
  const char* body = std::strchr(line, ':') + 2;
  write_message(body, length - static_cast<std::size_t>(body - line) - 1);
}

}  // namespace streamsan::recorder
