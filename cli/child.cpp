// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/child.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

namespace streamsan::cli {
namespace {

constexpr std::array kForwarded{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

std::atomic<pid_t> g_child{0};
std::atomic<bool> g_ours{false};
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<pid_t>::is_always_lock_free);

void on_signal(int number, siginfo_t* info, void*) {
  int saved = errno;
  if (g_ours) {
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) g_interrupted = true;
  } else if (info->si_code != SI_KERNEL) {
    pid_t child = g_child;
    if (child > 0 && info->si_pid != child) kill(child, number);
  }
  errno = saved;
}

void forward_signals() {
  for (int number : kForwarded) {
    struct sigaction action{};
    sigaction(number, nullptr, &action);
    // What we were told to ignore (nohup, a background job) stays ignored.
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Child::~Child() {
  if (ended_) waitpid(pid_, nullptr, 0);
}

int Child::start(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  // A signal between the start of the program and the moment we know its id must not be lost.
  sigset_t ours, before;
  sigemptyset(&ours);
  for (int number : kForwarded) sigaddset(&ours, number);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // ignored by us, not by the program
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &before);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error = posix_spawnp(&pid_, command[0].c_str(), nullptr, &attributes, pointers(command).data(),
                           pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error == 0) {
    g_child = pid_;
    forward_signals();
    descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0u));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

bool Child::ended_within(std::chrono::milliseconds patience) {
  if (ended_) return true;
  if (descriptor_ >= 0) {
    pollfd entry{descriptor_, POLLIN, 0};
    poll(&entry, 1, static_cast<int>(patience.count()));
  } else {
    std::this_thread::sleep_for(patience);
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) {
    return false;
  }
  ended_ = true;
  killed_ = info.si_code != CLD_EXITED;
  status_ = info.si_status;
  g_child = 0;
  if (descriptor_ >= 0) close(descriptor_);
  return true;
}

void Child::signal(int number) const {
  if (!ended_) kill(pid_, number);
}

void Child::take_signals_ourselves() { g_ours = true; }
bool Child::interrupted() { return g_interrupted; }

int Child::exit_code() const { return killed_ ? 128 + status_ : status_; }
int Child::killed_by() const { return killed_ ? status_ : 0; }

}  // namespace streamsan::cli
