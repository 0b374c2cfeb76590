// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Python half of a call stack: which function and line of Python the calling thread is in.
//
// To the unwinder an interpreter is one function that calls itself; from 3.11 on not even that. The frames of the
// program that it interprets are a chain in memory, which hangs on the interpreter's state for the thread:
//
//   PyGILState_GetThisThreadState() --> thread state --> frame --> frame --> ... --> null
//
// We walk the chain of OUR OWN thread, and nobody else changes that while we are here. So no lock is needed: not the
// global interpreter lock, which a call of the driver may or may not hold (taking it there deadlocks: the thread that
// has it may wait for this one) and not by any function of CPython's that takes another. The four functions called are
// reads of a word. Nothing is written, no object's count of references is touched: a frame keeps its code object alive,
// and that its names and its table of lines.
//
// WITHOUT THE GLOBAL LOCK (3.13t, 3.14t) other threads run Python meanwhile, as they do with it whenever a call of the
// driver has let it go. What they might do to what is read here:
//   * frames are pushed and popped by the thread that runs them. (Two threads that go on with one generator at once mix
//     up their chains; the interpreter itself does not survive that.)
//   * a code object is freed when nothing refers to it. In 3.13t a frame's reference is counted; in 3.14t it may be one
//     that is not (then it has a tag), and such an object is freed by the garbage collector only, which first stops all
//     threads and looks through the frames of each. A thread in a call of the driver counts as stopped, or is waited
//     for; its frames are looked through where they lie. At most the tag of a reference changes, which is left out
//     here.
//   * of a code object that has been made its names, first line and table of lines do not change. (importlib gives code
//     that it has read another file name if need be, before anybody runs it.) Of the objects that it refers to others
//     change the counts and the lock in the head, and whether a str is interned, which stands beside its kind in a word
//     that is read once.
//   * instructions are rewritten in place; they are not read here. In 3.14t each thread has a copy of them, and the
//     array of those is the one thing that may go while it is read (python_frames.h).
//
// COST. A process without Python pays for one test of a byte. One with Python reads four or five words a frame, and
// makes a hash of them (python_chain), which says whether the stack is a known one; stack.cpp asks that for every call.
// Names and lines are read once for each place in the program: a place is known again by its code object, instruction,
// its names and its table of lines, so that a new code object at an old address is not taken for the old one. The hash
// of a chain does not read tables, which nobody else does: each would come from far away (hot.h). From 3.12 on a code
// object has a number that no other one of its interpreter had. (Where it has none, the hash takes of the table where
// it is, how long, and both its ends: a function that is made again with other lines in its middle only, at the same
// addresses, while its callers stay where they were, may get its old lines.)
//
// TRUST. The layout (python_layout.h) is that of the interpreter's minor version, its type of code objects has the size
// that goes with it, and the first walk asks the kernel of each word whether it can be read; a function of it must have
// a name, and the first copy of its code, where there are such, must be that in the code object. Later walks check that
// what a frame says is its code is a code object, and take nothing else. What fails a check is not reported.
//
// What is lost:
//   * frames beyond the innermost kMostPythonFrames;
//   * threads that Python does not know have no Python stack. Those of PyTorch's autograd engine have that of another
//     thread, see torch_forward.cpp;
//   * the code of sub-interpreters up to 3.11, where a thread's state may be another one's: while there is more than
//     one interpreter nothing is taken;
//   * in 3.14t the lines of frames, not their names, in all threads but the main one where a filter of system calls
//     forbids process_vm_readv(); and a stack may get an old line if a copy of a function's code has gone with its
//     thread, and that of a later thread overlaps where it was without beginning there, which the allocator's blocks do
//     not do;
//   * everything once the interpreter finalises: threads that outlive it may have states that are gone. Between the
//     look at that flag and the end of a walk the interpreter would have to get from its first step of finalising to
//     the last one.
#pragma once

#include <atomic>
#include <cstdint>

namespace streamsan::recorder {

/// A training loop of PyTorch's is under three frames for each level of modules.
inline constexpr unsigned kMostPythonFrames = 40;

struct PythonStack {
  unsigned count = 0;
  std::uint32_t frame[kMostPythonFrames];  ///< ids of PythonFrame records, innermost first
};

namespace detail {
enum class PythonState : std::uint8_t {
  Absent,   ///< none was found so far
  Untried,  ///< found, and no thread of it was met yet
  Ready,
  Off,  ///< not wanted, or not to be read
};
extern constinit std::atomic<PythonState> g_python_state;
std::uint64_t hash_chain();
}  // namespace detail

/// Is there an interpreter whose frames are read?
inline bool may_be_in_python() {
  const detail::PythonState state = detail::g_python_state.load(std::memory_order_acquire);
  return state == detail::PythonState::Ready || state == detail::PythonState::Untried;
}

/// A hash of the calling thread's chain of frames; 0: it is not in Python.
inline std::uint64_t python_chain() { return may_be_in_python() ? detail::hash_chain() : 0; }

/// The frames of that chain, described in the trace. Only right after a python_chain() that was not 0.
void capture_python(PythonStack& out);

/// Is there an interpreter in the process? Cheap if no module has come or gone since it was asked last. Takes locks of
/// the loader: not in a signal handler. True: there is one now, and there was none before.
bool look_for_python();

/// At the end of the process: the user has asked for what there was none of.
void say_if_no_python();

}  // namespace streamsan::recorder
