// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
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
    // Signals that were ignored when we started (nohup, a background job) stay ignored.
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
  // Where SIGCHLD is ignored the kernel throws exit statuses away: not here. The program gets what we were given.
  struct sigaction defaults{}, inherited{};
  defaults.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &defaults, &inherited);
  std::vector<char*> arguments = pointers(command), settings = pointers(environment);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
  }
  // posix_spawn cannot have a signal ignored.
  pid_ = fork();
  if (pid_ == 0) {
    sigaction(SIGCHLD, &inherited, nullptr);
    sigaction(SIGPIPE, &defaults, nullptr);  // ignored by us, not by the program
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    execvpe(arguments[0], arguments.data(), settings.data());
    int why = errno;
    if (write(failure[1], &why, sizeof why) != sizeof why) abort();
    _exit(127);
  }
  int error = pid_ < 0 ? errno : 0;
  close(failure[1]);
  ssize_t got = 0;
  int why = 0;
  do {
    got = read(failure[0], &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  close(failure[0]);
  if (got == sizeof why) {
    error = why;
    waitpid(pid_, nullptr, 0);
  }
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
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno != ECHILD) return false;
    status_known_ = false;  // somebody in this process has taken it
  } else if (info.si_pid != pid_) {
    return false;
  }
  ended_ = true;
  killed_ = status_known_ && info.si_code != CLD_EXITED;
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
