// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wrappers of libc's functions about signal actions and masks: see faults.h for why.
//
// Masks are filtered from the start of the process, not only once there are guards: a program that blocks all signals
// does so before it makes its threads, and long before it meets CUDA.
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>

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
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> g_ppoll{"ppoll"};
constinit Next<int(pollfd*, nfds_t, const timespec*, const sigset_t*, std::size_t)> g_ppoll_chk{"__ppoll_chk"};
constinit Next<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> g_pselect{"pselect"};
constinit Next<int(const sigset_t*)> g_sigsuspend{"sigsuspend"};
constinit Next<int(int, epoll_event*, int, int, const sigset_t*)> g_epoll_pwait{"epoll_pwait"};
constinit Next<int(int, epoll_event*, int, const timespec*, const sigset_t*)> g_epoll_pwait2{"epoll_pwait2"};
constinit Next<int(pthread_attr_t*, const sigset_t*)> g_attr_setsigmask{"pthread_attr_setsigmask_np"};
constinit Next<int(const stack_t*, stack_t*)> g_sigaltstack{"sigaltstack"};
constinit Next<int(void*, std::size_t, int)> g_mprotect{"mprotect"};
constinit Next<int(void*, std::size_t, int, int)> g_pkey_mprotect{"pkey_mprotect"};

/// The calling thread has blocked SIGSEGV, as it believes.
// A fork keeps t_blocked: masks are inherited.
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

/// The mask of a function that sets one for the time it waits: signal handlers run with it. Null stays null.
class WithoutFault {
 public:
  explicit WithoutFault(const sigset_t* mask) : mask_(mask) {
    if (!mask || !options().host_guard || sigismember(mask, SIGSEGV) != 1) return;
    filtered_ = *mask;
    sigdelset(&filtered_, SIGSEGV);
    mask_ = &filtered_;
  }
  WithoutFault(const WithoutFault&) = delete;
  WithoutFault& operator=(const WithoutFault&) = delete;
  [[nodiscard]] const sigset_t* mask() const { return mask_; }

 private:
  const sigset_t* mask_;
  sigset_t filtered_;
};

/// The mask is inherited over exec: from a parent without us, or from before our functions were there.
__attribute__((constructor)) void unblock_inherited() {
  if (options().host_guard) unblock_faults();
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
  if (bytes && recording()) guard_no_more(reinterpret_cast<std::uint64_t>(address), bytes);
}

}  // namespace

void unblock_faults() {
  sigset_t fault;
  sigset_t before;
  sigemptyset(&fault);
  sigaddset(&fault, SIGSEGV);
  if (g_pthread_sigmask.get()(SIG_UNBLOCK, &fault, &before) == 0 && sigismember(&before, SIGSEGV) == 1)
    t_blocked = true;
}

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

SS_EXPORT int ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_ppoll.get()(files, count, timeout, filtered.mask());
}

SS_EXPORT int __ppoll_chk(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* mask,
                          std::size_t bytes) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_ppoll_chk.get()(files, count, timeout, filtered.mask(), bytes);
}

SS_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except, const timespec* timeout,
                      const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_pselect.get()(count, read, write, except, timeout, filtered.mask());
}

SS_EXPORT int sigsuspend(const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_sigsuspend.get()(filtered.mask());
}

SS_EXPORT int epoll_pwait(int epoll, epoll_event* events, int most, int timeout, const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_epoll_pwait.get()(epoll, events, most, timeout, filtered.mask());
}

SS_EXPORT int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout, const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_epoll_pwait2.get()(epoll, events, most, timeout, filtered.mask());
}

SS_EXPORT int pthread_attr_setsigmask_np(pthread_attr_t* attributes, const sigset_t* mask) {
  const streamsan::recorder::WithoutFault filtered(mask);
  return streamsan::recorder::g_attr_setsigmask.get()(attributes, filtered.mask());
}

SS_EXPORT int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  if (stack && !(stack->ss_flags & SS_DISABLE)) streamsan::recorder::signal_stack_given(stack->ss_size);
  return streamsan::recorder::g_sigaltstack.get()(stack, old);
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
