// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "cli/child.h"
#include "cli/executable.h"
#include "cli/exit_codes.h"
#include "cli/footprint_cache.h"
#include "cli/liveness.h"
#include "cli/measuring.h"
#include "cli/preload.h"
#include "cli/probe.h"
#include "cli/processes.h"
#include "cli/session.h"
#include "cli/trace_judge.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kScanEvery{10};
constexpr milliseconds kGraceForStragglers{1000};
constexpr milliseconds kGraceForLoading{100};
constexpr milliseconds kGraceAfterHalt{2000};

/// The traces of one run: found, judged, added to the session.
class Traces {
 public:
  Traces(const Options& options, Session& session, FootprintCache& cache, std::string directory)
      : options_(options),
        session_(session),
        cache_(cache),
        directory_(std::move(directory)),
        // On a terminal somebody waits.
        measuring_([&session](const std::string& line) { session.say(line, isatty(2) ? 0 : 1); }) {}
  ~Traces() { wait(); }
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  void scan() {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
      if (entry.path().extension() == ".trace" && known_.insert(entry.path().string()).second)
        begin(entry.path().string());
      if (entry.path().extension() == ".failed" && failed_.insert(entry.path().string()).second)
        tell_failure(entry.path());
      if (entry.path().extension() == ".unobserved" && unobserved_.insert(entry.path().string()).second)
        session_.unobserved("process " + entry.path().stem().string() + ": " + reason_in(entry.path()));
      if (entry.path().extension() == ".idle") idle_ = reason_in(entry.path());
    }
  }
  /// A process wanted to record and could not.
  [[nodiscard]] bool failed() const { return !failed_.empty(); }
  /// Why a process that wanted to use CUDA could not; empty: there was none.
  [[nodiscard]] const std::string& idle() const { return idle_; }
  /// Has the process opened a trace?
  [[nodiscard]] bool has_trace_of(pid_t pid) const {
    return known_.contains((fs::path(directory_) / (std::to_string(pid) + ".trace")).string());
  }
  [[nodiscard]] bool all_done() const { return done_ == known_.size(); }
  [[nodiscard]] bool none() const { return known_.empty(); }
  [[nodiscard]] bool halted() const { return halted_; }
  void do_not_wait() { no_wait_ = true; }
  void stop() { stop_ = true; }
  void wait() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  [[nodiscard]] const std::set<std::string>& paths() const { return known_; }

 private:
  /// What the recorder leaves in place of a trace, where a file may not even have a byte: a link whose target is the
  /// reason.
  static std::string reason_in(const fs::path& path) {
    std::error_code error;
    return fs::read_symlink(path, error).string();
  }
  void tell_failure(const fs::path& path) {
    const std::string reason = reason_in(path);
    session_.say("WARNING: process " + path.stem().string() +
                 " could not record: " + (reason.empty() ? "it left no reason" : reason));
  }
  void begin(const std::string& path) {
    TraceControl control{
        .live = true, .consume = !options_.keep_trace && !options_.syncs, .stop = &stop_, .no_wait = &no_wait_};
    control.measuring = [this, path](const Measuring& now) { measuring_.update(path, now); };
    control.on_error = [this, path](std::uint32_t pid, report::Finding& finding) {
      if (session_.suppressed(finding) || halted_.exchange(true)) return;
      // In another process namespace the id may be that of another process here.
      if (maps_trace(pid, path) == Mapped::Yes) kill(static_cast<pid_t>(pid), SIGTERM);
    };
    control.suppress = [this](std::vector<report::Finding>& findings) {
      for (report::Finding& finding : findings) finding.suppressed = session_.suppressed(finding);
    };
    // Signals are for the main thread, which passes them on.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    threads_.emplace_back([this, path, control] {
      Verdict verdict = judge_trace(path, options_, control);
      cache_.add(verdict.measured_launches);
      session_.add(std::move(verdict));
      ++done_;
    });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  const Options& options_;
  Session& session_;
  FootprintCache& cache_;
  std::string directory_;
  MeasuringProgress measuring_;
  std::set<std::string> known_;
  std::set<std::string> failed_;
  std::set<std::string> unobserved_;
  std::string idle_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> no_wait_{false};
  std::atomic<bool> halted_{false};
};

/// Removes the private directory when it is no longer needed, whatever way we leave. Until then it is locked, so that
/// nobody takes it for a left-over of a launcher that was killed.
struct Directory {
  std::string path;
  bool keep = false;
  int lock = -1;
  Directory(std::string made, bool keep_it) : path(std::move(made)), keep(keep_it) {
    if (path.empty()) return;
    lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0) flock(lock, LOCK_SH | LOCK_NB);
  }
  ~Directory() {
    std::error_code error;
    if (!path.empty() && !keep) fs::remove_all(path, error);
    if (lock >= 0) close(lock);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
};

void tell_unrecorded(Processes& processes, Session& session) {
  for (const SeenProcess& process : processes.take_unrecorded()) {
    session.unobserved("process " + std::to_string(process.pid) + " (" + process.program +
                       ") has loaded the CUDA driver and is not recorded: " + process.why);
  }
}

void watch(Child& child, Traces& traces, Processes& processes, Session& session) {
  auto halt_deadline = std::chrono::steady_clock::time_point::max();
  while (!child.ended_within(kScanEvery)) {
    traces.scan();
    processes.look_if_due();
    tell_unrecorded(processes, session);
    if (!traces.halted()) continue;
    // SIGTERM went to the process with the error, which may be a child of the program or not listen.
    auto now = std::chrono::steady_clock::now();
    if (halt_deadline == std::chrono::steady_clock::time_point::max()) {
      halt_deadline = now + kGraceAfterHalt;
      child.signal(SIGTERM);
    } else if (now > halt_deadline) {
      child.signal(SIGKILL);
    }
  }
}

/// Waits for what the program has left behind, and for the judges. A daemon may not have come to CUDA yet, nor, when it
/// has just become another program, to loading the recorder.
void settle(Traces& traces, Processes& processes, Session& session) {
  Child::take_signals_ourselves();
  traces.scan();
  processes.look();
  auto start = std::chrono::steady_clock::now();
  bool said = false;
  const auto is_awaited = [&](const SeenProcess& process) {
    return process.recorded || traces.has_trace_of(process.pid) ||
           std::chrono::steady_clock::now() - start < kGraceForLoading;
  };
  while (!traces.all_done() || std::ranges::any_of(processes.left_behind(), is_awaited)) {
    std::this_thread::sleep_for(milliseconds{1});
    traces.scan();
    processes.look_if_due();
    if (Child::interrupted()) traces.stop();
    auto waited = std::chrono::steady_clock::now() - start;
    if (waited > kGraceForStragglers) traces.do_not_wait();
    if (traces.all_done() && (waited > kGraceForStragglers || Child::interrupted())) break;
    if (waited > 2 * kGraceForStragglers && !said) {
      said = true;
      session.say("still judging what the program has done (Ctrl-C: report what was judged so far)", 1);
    }
  }
  traces.scan();
  traces.wait();
  processes.look();
  tell_unrecorded(processes, session);
}

/// Processes that outlive the program. Of one that has not used CUDA nobody knows whether it will: that is worth a
/// warning only where nothing else was checked.
void tell_left_behind(const Traces& traces, const Processes& processes, Session& session) {
  for (const SeenProcess& process : processes.left_behind()) {
    const std::string name = "process " + std::to_string(process.pid) + " (" + process.program + ")";
    if (traces.has_trace_of(process.pid)) {
      session.unobserved(name +
                         " still runs, one second after the program's end: what it does from here on is not checked");
    } else if (process.recorded && !session.has_operations()) {
      session.unobserved(name + " still runs, one second after the program's end, and has not used CUDA so far");
    }
  }
}

/// After all results are written: a home folder that hangs, or is full, must not cost them.
void keep_measured(FootprintCache& cache, Session& session) {
  std::string lost;
  try {
    lost = cache.save();
  } catch (const std::exception& error) {
    lost = error.what();
  }
  if (!lost.empty()) session.say("what was measured is not kept for later runs: " + lost, 1);
}

/// Has what earlier runs measured ready for the recorders.
void hand_out(const FootprintCache& cache, const std::string& directory, FootprintPlan& footprints, Session& session) {
  if (!footprints.measure || !cache.on()) return;
  const std::string extract = directory + "/footprints.earlier";
  bool written = false;
  if (const std::string fault = cache.write_extract(extract, written); !fault.empty())
    session.say("what earlier runs measured is not used: " + fault, 1);
  if (written) footprints.earlier = extract;
}

std::uint32_t days_since_1970() {
  using std::chrono::floor, std::chrono::days;
  return static_cast<std::uint32_t>(floor<days>(std::chrono::system_clock::now()).time_since_epoch().count());
}

/// Why nothing was observed, as far as it can be found out: a clause.
std::string why_nothing(const Options& options, const std::string& program, const std::string& preload,
                        const Traces& traces) {
  if (const std::string why = preload_obstacle(find_program(program)); !why.empty())
    return "the recorder cannot be preloaded into " + program + ": " + why;
  if (!traces.idle().empty()) return traces.idle();
  std::string ignored;
  if (const auto answer = ask_guest(options, preload, ignored)) {
    if (const auto error = answer->facts.find("driver-error"); error != answer->facts.end())
      return "there is no CUDA driver (" + error->second + ")";
  }
  if (!options.follow_children) return "programs that it may have started were not to be checked (follow_children=0)";
  return "if one did, the preload did not reach it; `streamsan doctor` checks the set-up";
}

}  // namespace

int run(const Options& options, const std::vector<std::string>& command) {
  Session session(options, command[0]);
  const Footprints asked_for = choice<Footprints>(options.footprints);
  if (options.timings && asked_for == Footprints::Measured) {
    session.say("--timings and footprints=measured exclude each other: CUPTI and the Sanitizer cannot both be used");
    return kOwnFailure;
  }
  std::string fault = log_fault(options);
  if (fault.empty()) fault = session.prepare();
  if (!fault.empty()) {
    session.say(fault);
    return kOwnFailure;
  }
  std::vector<std::string> tried;
  std::string preload = find_preload(options, tried);
  if (preload.empty()) {
    std::string places;
    for (const std::string& place : tried) places += (places.empty() ? " " : ", ") + place;
    session.say("cannot find libstreamsan.so (option preload_path); looked at" + places);
    return kOwnFailure;
  }
  Directory directory(make_trace_directory(options, fault), options.keep_trace);
  if (directory.path.empty()) {
    session.say(fault);
    return kOwnFailure;
  }

  const bool must_measure = asked_for == Footprints::Measured;
  const Surroundings surroundings(command[0]);
  FootprintPlan footprints = plan_footprints(options, preload, surroundings);
  if (!footprints.obstacle.empty()) {
    session.say("kernels cannot be measured: " + footprints.obstacle +
                    "; their bytes are computed from their code, or inferred",
                must_measure ? 0 : 1);
  }

  FootprintCache cache(cache_folder(options.footprint_cache, environment), STREAMSAN_VERSION, days_since_1970());
  hand_out(cache, directory.path, footprints, session);

  TimingPlan timings = plan_timings(options, preload, surroundings);
  if (!timings.obstacle.empty()) session.say("operations on the GPU will have no times: " + timings.obstacle);
  if (timings.take && asked_for == Footprints::Auto) {
    session.say("kernels are not measured while times are taken; their bytes are computed from their code, or inferred",
                1);
  }

  if (const std::optional<std::string> other = other_nvtx_listener()) {
    session.say("NVTX_INJECTION64_PATH is set (" + *other + "): what the program says by NVTX does not reach StreamSan",
                1);
  }
  Processes::adopt_orphans();
  Child child;
  int error = child.start(command, guest_environment(options, preload, footprints, directory.path, timings));
  if (error != 0) {
    session.say("cannot run " + command[0] + ": " + std::generic_category().message(error));
    directory.keep = false;
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
  }
  Traces traces(options, session, cache, directory.path);
  Processes processes(child.pid(), preload);
  watch(child, traces, processes, session);
  settle(traces, processes, session);

  if (int number = child.killed_by(); number && !traces.halted()) {
    // Somebody asked for these; they are no news.
    bool wanted = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGPIPE;
    session.say(command[0] + " was killed by signal " + std::to_string(number) + " (" + strsignal(number) +
                    "); what it had done was judged",
                wanted ? 1 : 0);
  }
  if (!child.status_known()) session.say("the exit code of " + command[0] + " is not known: somebody else took it");
  if (!footprints.earlier.empty()) unlink(footprints.earlier.c_str());
  tell_left_behind(traces, processes, session);
  if (traces.none()) {
    if (!traces.failed()) {
      const std::string nothing = "nothing was checked: no process of " + command[0] + " used CUDA through StreamSan";
      const bool said = session.has_unobserved();
      session.unobserved(said ? nothing : nothing + "; " + why_nothing(options, command[0], preload, traces));
    }
    directory.keep = false;
  } else if (!session.has_operations() && !session.has_damage()) {
    session.unobserved("nothing was checked: " + command[0] + " started CUDA and made no operation of it");
  }
  const bool whole = child.status_known() && !traces.failed() && !session.has_damage();
  if (!whole) session.incomplete();
  const auto exit_code = [&](bool written) {
    if ((traces.halted() || session.has_errors()) && options.exitcode != 0) return static_cast<int>(options.exitcode);
    if (child.exit_code() != 0) return child.exit_code();
    if (must_measure && (!footprints.measure || session.has_inferred())) return kOwnFailure;
    return whole && written && !session.lacks_activity() ? 0 : kOwnFailure;
  };
  session.after_program();
  fault = session.finish(exit_code(true));
  if (!fault.empty()) session.say(fault);
  keep_measured(cache, session);
  if (directory.keep) {
    for (const std::string& path : traces.paths()) session.say("trace kept: streamsan check " + path);
  }
  return exit_code(fault.empty());
}

}  // namespace streamsan::cli
