// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting workers and waiting for them; see workers.h.
#include "analyzer/tool/workers.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <numeric>
#include <optional>

#include "analyzer/interpreter/module.h"
#include "analyzer/tool/signals.h"
#include "analyzer/tool/toolkit.h"
#include "clang-tidy/tool/ClangTidyMain.h"

namespace streamsan::analyzer {
namespace {

/// Exit status of a worker that could not open its files.
constexpr int kNotStarted = 127;

/// The workers that run. They do not outlive it, whatever way run_jobs() is left.
class Running {
 public:
  Running() = default;
  ~Running() {
    for (const auto& [pid, index] : jobs_) {
      ::kill(pid, SIGKILL);
    }
    for (const auto& [pid, index] : jobs_) {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  void add(pid_t pid, std::size_t index) { jobs_.emplace(pid, index); }

  /// One that has ended, with its wait status; nothing: all still run.
  std::optional<std::pair<std::size_t, int>> take_ended() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (const auto job = jobs_.find(pid); job != jobs_.end()) {
        const std::size_t index = job->second;
        jobs_.erase(job);
        return std::pair(index, status);
      }
    }
    return std::nullopt;
  }

 private:
  std::map<pid_t, std::size_t> jobs_;
};

/// Opens `path` as `descriptor`, whatever that was.
void open_as(int descriptor, const char* path, int flags) {
  const int file = ::open(path, flags | O_CLOEXEC, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) {
    ::_exit(kNotStarted);
  }
  if (file != descriptor) ::close(file);  // it was closed before, and the file has got its number
}

/// What a worker does: clang-tidy's own main function. An exception ends it as a crash does.
[[noreturn]] void work(const Job& job, const sigset_t& mask) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody reads the results of a worker whose driver was killed
  ::prctl(PR_SET_NAME, std::filesystem::path(job.arguments.back()).filename().c_str());  // for ps and top
  forget_signals();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  open_as(STDIN_FILENO, "/dev/null", O_RDONLY);
  open_as(STDOUT_FILENO, job.output.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  open_as(STDERR_FILENO, job.errors.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  ::setenv("STREAMSAN_TIDY_SIDECAR", job.sidecar.c_str(), 1);
  const std::string self = own_path();
  std::vector<const char*> words{self.c_str()};
  for (const std::string& argument : job.arguments) {
    words.push_back(argument.c_str());
  }
  words.push_back(nullptr);
  HostModule::process_ends_soon();
  std::exit(clang::tidy::clangTidyMain(static_cast<int>(words.size()) - 1, words.data()));
}

/// 0, or the error that kept it from being started.
int start(const Job& job, const sigset_t& mask, pid_t& pid) {
  std::fflush(nullptr);  // or the worker would print it once more
  pid = ::fork();
  if (pid == 0) {
    work(job, mask);
  }
  return pid < 0 ? errno : 0;
}

}  // namespace

void run_jobs(const std::vector<Job>& jobs, unsigned parallel, const std::function<bool(std::size_t)>& prefers_to_wait,
              const std::function<void(std::size_t)>& begun, const std::function<void(std::size_t, int)>& done) {
  const SignalsHeld signals;
  Running running;
  std::list<std::size_t> left(jobs.size());
  std::iota(left.begin(), left.end(), 0);
  bool crowded = false;  // the system lets us have no further process until one of ours has ended
  while (noted_signal() == 0 && (!left.empty() || running.size() > 0)) {
    if (!left.empty() && running.size() < parallel && !crowded) {
      const auto willing = std::find_if_not(left.begin(), left.end(), prefers_to_wait);
      const auto chosen = willing == left.end() ? left.begin() : willing;  // no processor is left without work
      const std::size_t next = *chosen;
      pid_t pid = -1;
      const int failed = start(jobs[next], signals.before(), pid);
      crowded = (failed == EAGAIN || failed == ENOMEM) && running.size() > 0;
      if (crowded) {
        continue;
      }
      left.erase(chosen);
      if (failed == 0) {
        running.add(pid, next);
      }
      const SignalsHeld::Released released(signals);
      begun(next);
      if (failed != 0) {
        done(next, -1);
      }
    } else if (const auto ended = running.take_ended()) {
      crowded = false;
      const SignalsHeld::Released released(signals);
      done(ended->first, ended->second);
    } else {
      signals.wait();
    }
  }
}

}  // namespace streamsan::analyzer
