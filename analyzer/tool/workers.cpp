// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting workers and waiting for them; see workers.h.
#include "analyzer/tool/workers.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <optional>

#include "analyzer/tool/signals.h"
#include "analyzer/tool/toolkit.h"
#include "clang-tidy/tool/ClangTidyMain.h"

namespace streamsan::analyzer {
namespace {

/// This very program, even if an update has replaced its file by now.
constexpr const char* kSelf = "/proc/self/exe";

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

/// 0, or the error that kept it from being started.
int start(const Job& job, const sigset_t& mask, pid_t& pid) {
  std::vector<std::string> words{own_path(), kWorkerArgument};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  std::string sidecar = "STREAMSAN_TIDY_SIDECAR=" + job.sidecar;
  std::vector<char*> environment;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("STREAMSAN_TIDY_SIDECAR=")) {
      continue;
    }
    environment.push_back(*variable);
  }
  environment.push_back(sidecar.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, job.output.c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, job.errors.c_str(), flags, 0600);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  const int failed = ::posix_spawn(&pid, kSelf, &actions, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

void run_jobs(const std::vector<Job>& jobs, unsigned parallel, const std::function<void(std::size_t)>& begun,
              const std::function<void(std::size_t, int)>& done) {
  const SignalsHeld signals;
  Running running;
  std::size_t next = 0;
  bool crowded = false;  // the system lets us have no further process until one of ours has ended
  while (noted_signal() == 0 && (next < jobs.size() || running.size() > 0)) {
    if (next < jobs.size() && running.size() < parallel && !crowded) {
      pid_t pid = -1;
      const int failed = start(jobs[next], signals.before(), pid);
      crowded = (failed == EAGAIN || failed == ENOMEM) && running.size() > 0;
      if (crowded) {
        continue;
      }
      if (failed == 0) {
        running.add(pid, next);
      }
      const SignalsHeld::Released released(signals);
      begun(next);
      if (failed != 0) {
        done(next, -1);
      }
      ++next;
    } else if (const auto ended = running.take_ended()) {
      crowded = false;
      const SignalsHeld::Released released(signals);
      done(ended->first, ended->second);
    } else {
      signals.wait();
    }
  }
}

int run_worker(int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody reads the results of a worker whose driver was killed
  std::vector<const char*> words{argv[0]};
  words.insert(words.end(), argv + 2, argv + argc);
  words.push_back(nullptr);
  return clang::tidy::clangTidyMain(static_cast<int>(words.size()) - 1, words.data());
}

}  // namespace streamsan::analyzer
