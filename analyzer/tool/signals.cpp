// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Noting and holding; see signals.h.
#include "analyzer/tool/signals.h"

#include <unistd.h>

#include <cstdlib>

namespace streamsan::analyzer {
namespace {

constexpr int kNoted[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

volatile std::sig_atomic_t g_signal = 0;

void note(int signal) {
  g_signal = signal;
  if (signal != SIGPIPE) {  // every further line says that the reader is gone
    std::signal(signal, SIG_DFL);
  }
}

void wake(int /*signal*/) {}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = handler == wake ? SA_RESTART : 0;  // a worker that ends is no reason to give up a write
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void note_signals() {
  for (const int signal : kNoted) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {  // what the parent ignores (nohup) stays ignored
      handle(signal, note);
    }
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is reported as a full disk is
  handle(SIGCHLD, wake);          // even if the parent ignores it: the kernel would reap our workers
}

void forget_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) {
      std::signal(signal, SIG_DFL);
    }
  }
}

int noted_signal() { return g_signal; }

void die_of_signal() {
  std::signal(g_signal, SIG_DFL);
  std::raise(g_signal);
  std::_Exit(128 + g_signal);
}

SignalsHeld::SignalsHeld() {
  sigset_t held{};
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGCHLD);
  for (const int signal : kNoted) {
    ::sigaddset(&held, signal);
  }
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

SignalsHeld::Released::Released(const SignalsHeld& signals) { ::sigprocmask(SIG_SETMASK, &signals.before_, &held_); }
SignalsHeld::Released::~Released() { ::sigprocmask(SIG_SETMASK, &held_, nullptr); }

SignalsHeld::~SignalsHeld() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

void SignalsHeld::wait() const {
  sigset_t open = before_;
  ::sigdelset(&open, SIGCHLD);
  ::sigsuspend(&open);
}

}  // namespace streamsan::analyzer
