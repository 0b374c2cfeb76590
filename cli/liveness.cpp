// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/liveness.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

namespace streamsan::cli {
namespace {
constexpr std::chrono::seconds kLookEvery{1};
}

Liveness::Liveness(std::uint32_t pid, std::string trace)
    : pid_(pid),
      trace_(std::filesystem::path(trace).filename().string()),
      next_look_(std::chrono::steady_clock::now()) {
  // By number: the wrapper is younger than the C libraries we build with.
  descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid_), 0u));
  if (descriptor_ < 0 && errno == ESRCH) ended_ = true;
}

Liveness::~Liveness() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Liveness::maps_trace() const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  if (!maps) return true;  // not allowed to look: believe the descriptor alone
  for (std::string line; std::getline(maps, line);) {
    if (line.find(trace_) != std::string::npos) return true;
  }
  return false;
}

bool Liveness::killed() const {
  // Without taking the status away; Child does not take it before the end either.
  siginfo_t info{};
  if (waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

bool Liveness::ended_within(std::chrono::milliseconds patience) {
  if (ended_) return true;
  if (descriptor_ >= 0) {
    pollfd entry{descriptor_, POLLIN, 0};
    ended_ = poll(&entry, 1, static_cast<int>(patience.count())) == 1;
  } else {
    std::this_thread::sleep_for(patience);
    ended_ = kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
  }
  auto now = std::chrono::steady_clock::now();
  if (!ended_ && now >= next_look_) {
    next_look_ = now + kLookEvery;
    ended_ = !maps_trace();
  }
  return ended_;
}

}  // namespace streamsan::cli
