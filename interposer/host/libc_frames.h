// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack frames that end while an asynchronous copy uses their variables.
//
// No call shows that a function has returned. So if a copy gets a variable on the calling thread's own stack, the
// recorder remembers that, and at every later driver call of the thread it checks whether the variable's frame is still
// there. It is gone
//   * if the stack has shrunk past the variable, or
//   * if the return address of the function whose variable it was is not in its place any more: the library between the
//     program and the driver has frames of its own, which often reach deeper than the variable did.
// If the same place holds the same return address, the function counts as still running, though it may have been called
// again from there. And the check runs only at driver calls. Both may miss a bug and cannot invent one: no live
// variable lies below the frame of the current call.
//
// Stacks that a program switches to by itself (coroutines, signal stacks) are left alone: only the bounds of the
// thread's own stack are known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

/// A variable that was lent, [begin, end), and the place of its function's return address (0: not known) and what stood
/// there.
struct StackLoan {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t return_place;
  std::uint64_t return_word;
};
struct StackLoans;

namespace detail {
/// Null until the thread lends a variable of its stack.
extern constinit thread_local StackLoans* t_stack_loans __attribute__((tls_model("initial-exec")));
void look_at_frames(const void* callers_stack);
}  // namespace detail

/// A copy that may still run when the call returns was given [begin, begin + bytes) of host memory. Remembers it if it
/// lies in a live frame of the calling thread. `callers_stack`: SS_CALLERS_STACK() of the wrapper.
void note_stack_loan(const void* begin, std::size_t bytes, const void* callers_stack);

/// The thread makes a driver call. before_host_free() is called once for each variable that is gone.
inline void check_frames(const void* callers_stack) {
  if (detail::t_stack_loans) [[unlikely]]
    detail::look_at_frames(callers_stack);
}

}  // namespace streamsan::recorder
