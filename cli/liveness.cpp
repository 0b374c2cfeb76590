// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/liveness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace streamsan::cli {
namespace {
constexpr std::chrono::seconds kLookEvery{1};
}

Mapped maps_trace(std::uint32_t pid, const std::string& trace) {
  // The last two names: the process may see the directory elsewhere.
  std::filesystem::path path(trace);
  std::string wanted = (path.parent_path().filename() / path.filename()).string();
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  if (!maps) return Mapped::Unknown;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(wanted) != std::string::npos) return Mapped::Yes;
  }
  return Mapped::No;
}

Liveness::Liveness(std::uint32_t pid, std::string trace)
    : pid_(pid),
      trace_(std::move(trace)),
      // For writing: file systems that make this lock of another kind want that for an exclusive one.
      file_(open(trace_.c_str(), O_RDWR | O_CLOEXEC)),
      // By number: the wrapper is younger than the C libraries we build with.
      descriptor_(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid_), 0u))),
      next_look_(std::chrono::steady_clock::now()) {}

Liveness::~Liveness() {
  if (descriptor_ >= 0) close(descriptor_);
  if (file_ >= 0) close(file_);
}

Liveness::Lock Liveness::look() const {
  if (file_ < 0) return Lock::Unsupported;
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) {
    flock(file_, LOCK_UN);
    return Lock::Free;
  }
  return errno == EWOULDBLOCK || errno == EINTR ? Lock::Held : Lock::Unsupported;
}

void Liveness::wait(std::chrono::milliseconds patience) {
  if (descriptor_ < 0) {
    std::this_thread::sleep_for(patience);
    return;
  }
  pollfd entry{descriptor_, POLLIN, 0};
  if (poll(&entry, 1, static_cast<int>(patience.count())) != 1) return;
  // It wakes once. Whether that was the writer is for the others to say.
  process_gone_ = true;
  close(descriptor_);
  descriptor_ = -1;
}

bool Liveness::ended_by_id() {
  if (process_gone_ || (kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH)) return true;
  auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return false;
  next_look_ = now + kLookEvery;
  return maps_trace(pid_, trace_) == Mapped::No;
}

bool Liveness::killed() const {
  // Without taking the status away; Child does not take it before the end either.
  siginfo_t info{};
  if (waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  return info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
}

bool Liveness::ended_within(std::chrono::milliseconds patience) {
  if (ended_) return true;
  wait(patience);
  Lock lock = look();
  ended_ = lock == Lock::Free || (lock == Lock::Unsupported && ended_by_id());
  return ended_;
}

}  // namespace streamsan::cli
