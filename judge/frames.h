// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which frames of a call stack are the user's, and what the user calls the thing that was called.
//
// The driver function recorded in a trace is rarely what the program wrote: `cudaMemcpyAsync` arrives as
// cuMemcpyHtoDAsync_v2, below a dozen frames of a run-time that nvcc links statically into the program itself. So
// frames are distinguished by module (libcuda, libcublas, the loader, libc) and by function name (the static run-time,
// nvcc's launch stubs), and the outermost function of CUDA's run-time or libraries gives the name that reports use.
//
// If the thread was in Python, the Python frames replace the frames of the interpreter (CPython, libffi, ctypes), and
// stand where the innermost of those was. So a stack has first the frames of native code that Python called, then the
// Python frames, then those of a program that embeds the interpreter. Code in an installed Python package counts as a
// library, native or not. Behind all of these are the Python frames of the forward operation (Frame::forward), where a
// gradient is computed: they are on another stack, which is over, and say what the call is for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"
#include "report/short_name.h"

namespace streamsan::judge {

using report::base_name;

bool is_python(const report::Frame& frame);

/// PyTorch's own shared objects, also where they were built by hand.
bool is_pytorch_module(std::string_view path);

/// CUDA's driver, run-time and math libraries, StreamSan's own, the loader, libc and the C++ run-time.
bool is_library_module(std::string_view path);

/// A function of the (static) CUDA run-time, a launch stub made by nvcc, an annotation, or start-up code, whatever
/// module it is in.
bool is_library_function(std::string_view demangled);

/// "train.py:31"; of a place without a line "train.py".
std::string file_and_line(const report::Frame& frame);

/// A module of the interpreter, or of what it calls C through.
bool is_interpreter_module(std::string_view path);

/// A file of Python's own or of an installed package, of Python code or of native code; or code that PyTorch's compiler
/// has generated.
bool is_python_package(std::string_view path);

/// Puts Python's frames into the native stack, in the place of the interpreter's. Nothing changes if there are none.
void merge_python_frames(std::vector<report::Frame>& stack, std::vector<report::Frame> python);

/// "train.py:88", of a frame with a file; "backward of train.py:12", if the frame leads to the forward operation.
std::string frame_place(const report::Frame& frame);

/// Marks Frame::library on a whole stack, innermost frame first. `kernel`: demangled name of the kernel launched there;
/// nvcc makes a host function of the same name, which is no frame of the user's. Code that Python was given as text
/// ("<string>") counts as the user's only where no frame stands in a file of the user's.
void mark_library_frames(std::vector<report::Frame>& stack, std::string_view kernel);

/// The outermost run-time function below the first user frame: "cudaMemcpyAsync"; empty: there is none.
std::string runtime_call(const std::vector<report::Frame>& stack);

/// The function of another library of CUDA's (cuBLAS, NCCL, ...) nearest to the user's code: "cublasSgemm_v2"; or
/// empty.
std::string library_call(const std::vector<report::Frame>& stack);

/// The library that makes the call by itself: the module of CUDA's, other than driver and run-time, nearest to the
/// user's code: "libcublas.so.13"; empty: the program makes it.
std::string calling_library(const std::vector<report::Frame>& stack);

/// Is what was called called by CUDA's driver, run-time or libraries for themselves, and not by the program? The
/// run-time reads a clock where it waits with a limit, for example.
bool is_made_by_cuda(const std::vector<report::Frame>& stack);

/// The program's name for what created a host thread, by `function` of libc: "std::thread", "std::async",
/// "Thread.start()" (Python's), "pthread_create".
std::string thread_maker(const std::vector<report::Frame>& stack, const std::string& function);

/// The library call that makes both calls, if the program can put no call of its own between them: "cusolverDnXgeev
/// (solve.cu:40)" if the program makes one call that makes both, "libcublas.so.13" if no code of the program calls
/// either. Else empty.
std::string library_of_both(const std::vector<report::Frame>& later, const std::vector<report::Frame>& earlier);

}  // namespace streamsan::judge
