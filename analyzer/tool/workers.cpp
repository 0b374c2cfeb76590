// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting workers and waiting for them; see workers.h.
#include "analyzer/tool/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>

#include "analyzer/tool/scratch.h"
#include "analyzer/tool/toolkit.h"
#include "clang-tidy/tool/ClangTidyMain.h"

namespace streamsan::analyzer {
namespace {

/// This very program, even if an update has replaced its file by now.
constexpr const char* kSelf = "/proc/self/exe";

pid_t start(const Job& job) {
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
  if (!job.output.empty()) {
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, job.output.c_str(), flags, 0600);
  }
  if (!job.errors.empty()) {
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, job.errors.c_str(), flags, 0600);
  }
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, kSelf, &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -1;
}

}  // namespace

void run_jobs(const std::vector<Job>& jobs, unsigned parallel, const std::function<void(std::size_t)>& begun,
              const std::function<void(std::size_t, int)>& done) {
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0;
  while (noted_signal() == 0 && (next < jobs.size() || !running.empty())) {
    if (next < jobs.size() && running.size() < parallel) {
      const std::size_t index = next++;
      begun(index);
      const pid_t pid = start(jobs[index]);
      if (pid < 0) {
        done(index, -1);
      } else {
        running.emplace(pid, index);
      }
      continue;
    }
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, 0);
    if (const auto job = running.find(pid); job != running.end()) {
      const std::size_t index = job->second;
      running.erase(job);
      done(index, status);
    } else if (pid < 0 && errno != EINTR) {
      break;
    }
  }
  for (const auto& [pid, index] : running) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
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
