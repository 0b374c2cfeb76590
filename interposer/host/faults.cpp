// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/faults.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/host/fault_site.h"
#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/host/next.h"
#include "interposer/host/owned_lock.h"
#include "interposer/host/raw_syscall.h"
#include "interposer/process.h"
#include "interposer/this_library.h"

namespace streamsan::recorder {
namespace {

using Action = struct sigaction;

constinit Next<int(int, const Action*, Action*)> g_real_action{"sigaction"};
constinit Next<int(int, const sigset_t*, sigset_t*)> g_sigmask{"pthread_sigmask"};
constinit OwnedLock g_action_lock;
// A fork keeps g_guest, g_installed, t_in_guest_handler, g_small_stacks: the child inherits actions, handlers that
// run and signal stacks.
constinit Action g_guest{};  // what the guest believes to be its action; under g_action_lock
constinit std::atomic<bool> g_installed{false};
constinit std::atomic<pid_t> g_process{0};  // that the table is about

/// The thread runs the guest's handler, with SIGSEGV blocked. Or it has jumped out of it.
constinit thread_local bool t_in_guest_handler __attribute__((tls_model("initial-exec"))) = false;

void on_fault(int signal, siginfo_t* info, void* context);

/// Under g_host_lock no look-up may wait for the loader: its lock may be held by a thread that waits for ours.
__attribute__((constructor)) void find_functions() {
  g_real_action.get();
  g_sigmask.get();
}

/// A signal's stack on which ours can run, without a walk of the stack. Measured on x86-64: 7 KiB are too few, of which
/// the kernel takes 3.5 for its frame. On AArch64 it takes 4.5 and more (the vector registers), and SIGSTKSZ is as
/// much.
#if defined __x86_64__
constexpr std::size_t kLeastSignalStack = 8192;
#else
constexpr std::size_t kLeastSignalStack = 16384;
#endif
constinit std::atomic<bool> g_small_stacks{false};

/// Is this the child of vfork()? It shares our memory, but not the actions for signals.
bool is_borrower() {
  const pid_t owner = g_process.load(std::memory_order_relaxed);
  return owner != 0 && owner != getpid() && *detail::g_same_process.load(std::memory_order_relaxed) != 0;
}

/// Ours, with those of the guest's flags that are at work before a handler runs. SIGSEGV is not blocked in it: the
/// guest's handler, which it may call, decides about that.
void install() {
  Action ours{};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | (g_guest.sa_flags & (SA_ONSTACK | SA_RESTART));
  sigemptyset(&ours.sa_mask);
  g_real_action.get()(SIGSEGV, &ours, nullptr);
}

/// The process's handler as the kernel knows it, whoever has set it.
const void* kernel_handler() {
  struct {
    const void* handler;
    unsigned long flags;
    const void* restorer;
    unsigned long mask;
  } now{};
  const long result =
      raw_syscall(SYS_rt_sigaction, SIGSEGV, 0, reinterpret_cast<long>(&now), static_cast<long>(sizeof now.mask));
  return result == 0 ? now.handler : nullptr;
}

void die_by(int signal) {
  Action standard{};
  standard.sa_handler = SIG_DFL;
  sigemptyset(&standard.sa_mask);
  g_real_action.get()(signal, &standard, nullptr);
}

/// What would have happened without us.
void forward(int signal, siginfo_t* info, void* context) {
  Action guest;
  {
    const Holding holding(g_action_lock);
    guest = g_guest;
    if ((guest.sa_flags & SA_RESETHAND) && guest.sa_handler != SIG_IGN) g_guest.sa_handler = SIG_DFL;
  }
  const bool sent = info->si_code <= 0;
  if (guest.sa_handler == SIG_DFL || (guest.sa_handler == SIG_IGN && !sent)) {
    // The instruction faults again, and then the kernel does what it does.
    die_by(signal);
    if (sent) raise(signal);
    return;
  }
  if (guest.sa_handler == SIG_IGN) return;
  // The rest of the process must be able to run with SIGSEGV blocked.
  end_all_loans();
  sigset_t mask = guest.sa_mask;
  if (!(guest.sa_flags & SA_NODEFER)) sigaddset(&mask, signal);
  g_sigmask.get()(SIG_BLOCK, &mask, nullptr);
  // When the handler returns, the kernel restores the mask; if it leaves by longjmp(), nobody does.
  t_in_guest_handler = true;
  if (guest.sa_flags & SA_SIGINFO) {
    guest.sa_sigaction(signal, info, context);
  } else {
    guest.sa_handler(signal);
  }
  t_in_guest_handler = false;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (info->si_code == SEGV_ACCERR) {
    const FaultSite site = fault_site(context);
    const auto* at = reinterpret_cast<const void*>(site.pc);
    // The driver may touch what it likes, and so may we.
    const bool counts = recording() && !is_in_call(site.stack) && !is_in_driver(at) && !is_in_this_library(at);
    if (host_touched(reinterpret_cast<std::uint64_t>(info->si_addr), site.wrote, counts, site.pc)) {
      errno = saved;
      return;
    }
  }
  errno = saved;
  forward(signal, info, context);
}

}  // namespace

bool faults_are_ours() {
  if (t_in_guest_handler) [[unlikely]] {
    t_in_guest_handler = false;
    unblock_faults();
  }
  if (g_small_stacks.load(std::memory_order_relaxed) && (g_guest.sa_flags & SA_ONSTACK)) return false;
  if (g_installed.load(std::memory_order_acquire) && kernel_handler() == reinterpret_cast<const void*>(on_fault))
      [[likely]]
    return true;
  const Holding holding(g_action_lock);
  if (!holding || !g_real_action.get() || !g_sigmask.get()) return false;
  if (g_real_action.get()(SIGSEGV, nullptr, &g_guest) != 0) return false;
  if (!g_installed.load()) start_guard_time();
  if ((g_guest.sa_flags & SA_ONSTACK) && g_small_stacks.load()) return false;
  install();
  g_process.store(getpid(), std::memory_order_relaxed);
  g_installed.store(true, std::memory_order_release);
  return kernel_handler() == reinterpret_cast<const void*>(on_fault);
}

bool exchange_guest_action(const struct sigaction* action, struct sigaction* old) {
  if (!g_installed.load(std::memory_order_acquire) || is_borrower()) return false;
  if (action && (action->sa_flags & SA_ONSTACK) && g_small_stacks.load()) end_all_loans();
  const Holding holding(g_action_lock);
  if (!holding) return false;
  // Set by the system call itself in the meantime: then the real function knows better.
  if (kernel_handler() != reinterpret_cast<const void*>(on_fault)) {
    g_installed.store(false);
    return false;
  }
  const Action before = g_guest;
  if (action) {
    g_guest = *action;
    install();
  }
  if (old) *old = before;
  return true;
}

void signal_stack_given(std::size_t bytes) {
  if (bytes >= kLeastSignalStack || g_small_stacks.exchange(true)) return;
  end_all_loans();
}

void in_child::faults() {
  g_action_lock.forget();
  if (g_process.load(std::memory_order_relaxed) != 0) g_process.store(getpid(), std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
