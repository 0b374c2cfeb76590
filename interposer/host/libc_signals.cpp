// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wrappers of libc's functions about signal actions and masks: see faults.h for why.
//
// Masks are filtered from the start of the process, not only once there are guards: a program that blocks all signals
// does so before it makes its threads, and long before it meets CUDA.
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <csignal>

#include "interposer/host/faults.h"
#include "interposer/host/host_memory.h"
#include "interposer/host/next.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

using Action = struct sigaction;
using Handler = void (*)(int);

constinit Next<int(int, const Action*, Action*)> g_sigaction{"sigaction"};
constinit Next<Handler(int, Handler)> g_signal{"signal"};
constinit Next<Handler(int, Handler)> g_sysv_signal{"sysv_signal"};
constinit Next<int(int, const sigset_t*, sigset_t*)> g_pthread_sigmask{"pthread_sigmask"};
constinit Next<int(int, const sigset_t*, sigset_t*)> g_sigprocmask{"sigprocmask"};
constinit Next<int(void*, std::size_t, int)> g_mprotect{"mprotect"};
constinit Next<int(void*, std::size_t, int, int)> g_pkey_mprotect{"pkey_mprotect"};

/// The calling thread has blocked SIGSEGV, as it believes.
constinit thread_local bool t_blocked __attribute__((tls_model("initial-exec"))) = false;

int change_action(int signal, const Action* action, Action* old) {
  if (signal == SIGSEGV && exchange_guest_action(action, old)) return 0;
  if (!action || signal == SIGSEGV || !options().host_guard) return g_sigaction.get()(signal, action, old);
  // A handler with SIGSEGV in its mask runs with it blocked.
  Action filtered = *action;
  sigdelset(&filtered.sa_mask, SIGSEGV);
  return g_sigaction.get()(signal, &filtered, old);
}

template <typename Real>
int change_mask(Real& real, int how, const sigset_t* set, sigset_t* old) {
  if (!options().host_guard) return real.get()(how, set, old);
  const bool was_blocked = t_blocked;
  sigset_t filtered;
  if (set && sigismember(set, SIGSEGV) == 1 && how != SIG_UNBLOCK) {
    filtered = *set;
    sigdelset(&filtered, SIGSEGV);
    set = &filtered;
    t_blocked = true;
  } else if (set && (how == SIG_SETMASK || (how == SIG_UNBLOCK && sigismember(set, SIGSEGV) == 1))) {
    t_blocked = false;
  }
  const int result = real.get()(how, set, old);
  if (result != 0) t_blocked = was_blocked;
  if (result == 0 && old && was_blocked) sigaddset(old, SIGSEGV);
  return result;
}

/// signal() for SIGSEGV is sigaction() with the flags of its family.
template <typename Real>
Handler change_handler(Real& real, int signal, Handler handler, int flags) {
  if (signal != SIGSEGV) return real.get()(signal, handler);
  Action action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  Action old{};
  if (!exchange_guest_action(&action, &old)) return real.get()(signal, handler);
  return old.sa_handler;
}

/// A program with protections of its own on memory that the GPU reaches (a write barrier, a guard of its own).
void guest_protects(const void* address, std::size_t bytes) {
  if (bytes && recording()) host_memory_touched_by_mprotect(reinterpret_cast<std::uint64_t>(address), bytes);
}

}  // namespace
}  // namespace streamsan::recorder

extern "C" {

#define SS_EXPORT __attribute__((visibility("default")))

SS_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
  return streamsan::recorder::change_action(signal, action, old);
}

SS_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  return streamsan::recorder::change_handler(streamsan::recorder::g_signal, signal, handler, SA_RESTART);
}

SS_EXPORT sighandler_t sysv_signal(int signal, sighandler_t handler) noexcept {
  return streamsan::recorder::change_handler(streamsan::recorder::g_sysv_signal, signal, handler,
                                             SA_RESETHAND | SA_NODEFER);
}

SS_EXPORT sighandler_t __sysv_signal(int signal, sighandler_t handler) noexcept {
  return streamsan::recorder::change_handler(streamsan::recorder::g_sysv_signal, signal, handler,
                                             SA_RESETHAND | SA_NODEFER);
}

SS_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return streamsan::recorder::change_mask(streamsan::recorder::g_pthread_sigmask, how, set, old);
}

SS_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return streamsan::recorder::change_mask(streamsan::recorder::g_sigprocmask, how, set, old);
}

SS_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
  streamsan::recorder::guest_protects(address, bytes);
  return streamsan::recorder::g_mprotect.get()(address, bytes, protection);
}

SS_EXPORT int pkey_mprotect(void* address, std::size_t bytes, int protection, int key) noexcept {
  streamsan::recorder::guest_protects(address, bytes);
  return streamsan::recorder::g_pkey_mprotect.get()(address, bytes, protection, key);
}
}
