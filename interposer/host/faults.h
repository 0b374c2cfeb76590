// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fault handler for guarded pages, and how the guest's own handlers keep working.
//
//   SIGSEGV --> ours: a guarded page?  yes: record the touch, make the page accessible, go on
//                                      no:  all guards down, then exactly what the guest's own action would have done
//
// The guest must not notice. So:
//   * sigaction(), signal() and their kin keep the guest's action for SIGSEGV in a table of ours and answer from it
//     (libc_signals.cpp). A runtime that sets its handler by the system call itself (Go) takes ours away; that is
//     looked for before each guard, and ours is put in front of it again.
//   * A fault while SIGSEGV is blocked kills the process. Programs that block all signals in their threads are common,
//     so SIGSEGV is left out of every mask that goes through libc, and put back into what the guest sees as its mask.
//     A handler of the guest's that jumps out without restoring the mask leaves it blocked until the thread's next
//     guard.
//   * The guest's handler is called with its own mask and flags: SA_SIGINFO, SA_NODEFER, SA_RESETHAND, SA_ONSTACK.
//
// What is lost: a SIGSEGV that is sent by kill() is delivered even to a thread that has blocked it.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

/// Makes our handler the process's, if it is not. Cheap enough for every guard: one system call. False: it cannot be.
/// Under g_host_lock.
bool faults_are_ours();

/// sigaction() for SIGSEGV, once our handler is in place. False: it is not, the real function is to be called.
bool exchange_guest_action(const struct sigaction* action, struct sigaction* old);

/// If SIGSEGV is blocked in this thread, by whatever has not come through us: unblocks it. The guest still sees it as
/// blocked. (libc_signals.cpp)
void unblock_faults();

/// A thread has given its handlers a stack of that size. If ours might be called on it and needs more, nothing is
/// guarded from now on.
void signal_stack_given(std::size_t bytes);

}  // namespace streamsan::recorder
