// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which framework the program uses CUDA through: PyTorch, CuPy or Numba.
//
// A Python program is repaired in Python: there the driver's functions are out of reach, and a stream is an object of
// the framework. So if a framework submitted both operations, the repair is in the framework's words
// (framework_words.h). In all other cases it is in CUDA's: for C++ programs (also with libtorch), for Python that calls
// the driver by ctypes or by its own extension, and for a race between two frameworks.
//
// The framework is found from the call stack alone, from its innermost frame outwards. The first frame that belongs to
// a framework decides, and the first frame of the program's own ends the search: that torch/nn/modules/module.py called
// a module of the user's does not make the launch in it PyTorch's. Frames of other packages are skipped, so that an
// operator of torchvision is PyTorch's. A native stack without Python counts as PyTorch's if PyTorch's own bindings are
// in it: the thread of a backward pass.
//
// Triton takes the stream that is current in PyTorch, so its launches are PyTorch's. Operations inside a call of NCCL
// belong to no framework, and neither does what cuDNN does in a stream of its own: the program cannot reach such
// streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"

namespace streamsan::judge {

enum class Framework : std::uint8_t { None, PyTorch, CuPy, Numba };

/// The framework whose code a single frame is, of Python or native.
Framework framework_of(const report::Frame& frame);

/// By which framework Python submitted the operation with this stack (innermost frame first; libraries are marked).
/// `kernel`: demangled name of the kernel launched there; CuPy's generated ones are known by it.
Framework submitter(const std::vector<report::Frame>& stack, std::string_view kernel = {});

/// One half of a hazard.
struct Submission {
  const std::vector<report::Frame>& stack;
  std::string_view kernel;
  bool on_stream = true;  ///< else it is the host's: any line of Python will do
  bool reachable = true;  ///< false: in a stream that a library of CUDA's made for itself
};

/// The framework that submitted both; None if they are of two, or one is of none.
Framework submitter_of_both(const Submission& a, const Submission& b);

/// " (train.py:88)", " (backward of train.py:12)": the innermost line of Python that is the program's own, or, where
/// the whole program is installed, that is of no framework; empty: there is none.
std::string python_place(const std::vector<report::Frame>& stack);

/// The method that makes a stream wait for an event: "wait_event" of the stream, in Numba "wait" of the event.
const char* wait_method(Framework framework);

/// The method of a stream or an event that the program called: "wait_stream()" for the record and the wait inside of
/// it. `otherwise` where no line of the framework's tells (its methods may be compiled).
std::string event_method(const std::vector<report::Frame>& stack, std::string_view otherwise);

/// That method is wait_stream().
bool is_in_wait_stream(const std::vector<report::Frame>& stack);

/// Is the event of the call with this stack one that the program can lay hands on? PyTorch uses events of its own: in
/// C++ (copies between devices, the backward pass, its allocator), where no method of Python is in the stack, and in
/// Python, where PyTorch calls the method. Of CuPy and Numba no such events are known.
bool event_in_reach(Framework framework, const std::vector<report::Frame>& stack);

}  // namespace streamsan::judge
