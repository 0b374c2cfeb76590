// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call stacks, cheaply: an id for where a driver call comes from.
//
// CUDA programs are compiled without frame pointers, so a stack needs the unwind tables, which cost 100 ns and more for
// each frame. But a program calls the driver from few places over and over. So each thread remembers, for every return
// address it has met *at a place on its stack*, where the next one stands: the same return address at the same place
// means the same caller at the same instruction, whose frame has the same size. A known stack is then walked by
// look-ups in a small table, about 4 ns a frame, or, if all of it was met before, by comparing it place by place; only
// a place that was never seen needs the unwinder. Every place that is read was on this thread's stack when it was
// learnt, at this very address, so reading it cannot fault. It errs only where a frame's size varies at one instruction
// (alloca) and a stale value survives in the place; then a report may name a caller of a few calls ago.
//
// Where the thread is in Python as well, its frames there are a part of the stack (python_stack.h): two lines of Python
// are two stacks, though the interpreter below them does the same. Where it computes a gradient for PyTorch, the stack
// says as well where the forward operation was called (torch_forward.cpp).
//
// Stacks are stored once, by hash, and described in the trace by a Stack record; the modules the addresses belong to by
// Module records. Symbols are looked up outside of the guest.
#pragma once

#include <cstdint>

namespace streamsan::recorder {

/// Id of the call stack above the wrapper whose frame address is `frame`; 0 if stacks are off.
/// `frame` is __builtin_frame_address(0) of the wrapper.
std::uint32_t capture_stack(const void* frame);

/// capture_stack() will be called: what it needs is fetched meanwhile.
void expect_stack(const void* frame);

/// Id of a stack that is the thread's frames in Python and nothing else; 0: they have no names. Only right after a
/// python_chain() that was not 0.
std::uint32_t capture_python_stack();

/// The same for a fault handler: id of the call stack at the instruction `pc` that it has interrupted.
std::uint32_t capture_interrupted_stack(std::uint64_t pc);

}  // namespace streamsan::recorder
