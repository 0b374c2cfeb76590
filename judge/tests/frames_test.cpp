// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/frames.h"

#include <gtest/gtest.h>

namespace streamsan::judge {
namespace {

using report::Frame;

Frame frame(std::string function, std::string module = "/opt/app/demo", std::string file = "") {
  return {.function = std::move(function), .file = std::move(file), .module = std::move(module)};
}

std::vector<bool> libraries(std::vector<Frame> stack, std::string_view kernel = "") {
  mark_library_frames(stack, kernel);
  std::vector<bool> out;
  for (const Frame& f : stack) out.push_back(f.library);
  return out;
}

TEST(Frames, Modules) {
  for (const char* yes :
       {"/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/x/libcudart.so.12", "/x/libcublasLt.so.13", "/x/libnccl.so.2",
        "/opt/lib/libstreamsan.so", "/lib64/ld-linux-x86-64.so.2", "/lib/libc.so.6"}) {
    EXPECT_TRUE(is_library_module(yes)) << yes;
  }
  for (const char* no :
       {"/opt/app/train", "/x/libtorch_cuda.so", "/x/libcustom.so", "/x/libcurious.so", "", "/x/libcudakernels.so"}) {
    EXPECT_FALSE(is_library_module(no)) << no;
  }
}

TEST(Frames, ObjectsOfPyTorch) {
  for (const char* yes : {"/x/libtorch_cuda.so", "/x/libtorch.so", "/x/libc10.so", "libc10_cuda.so"}) {
    EXPECT_TRUE(is_pytorch_module(yes)) << yes;
  }
  for (const char* no : {"/libtorch/lib/libmine.so", "/x/libc10k.so", "/x/libjaxlib.so", "/x/libcuda.so.1", ""}) {
    EXPECT_FALSE(is_pytorch_module(no)) << no;
  }
}

TEST(Frames, FunctionsOfTheStaticRuntime) {
  for (const char* yes :
       {"cudaMemcpyAsync", "cudaMemcpyAsync_ptsz", "__cudaLaunchKernel", "libcudart_static_1234abcd",
        "__device_stub__Z7consumePKf(float const*)", "_start", "__libc_start_call_main",
        "cudaError cudaLaunchKernel<char>(char const*, dim3, dim3, void**, unsigned long, CUstream_st*)"}) {
    EXPECT_TRUE(is_library_function(yes)) << yes;
  }
  for (const char* no :
       {"cudamatrix()", "cudaless", "main", "my::cuda::launch()", "cuda_copy(int)", "wrap::cudaHelper2::go()", ""}) {
    EXPECT_FALSE(is_library_function(no)) << no;
  }
}

TEST(Frames, OutermostRuntimeFunctionNamesTheCall) {
  std::vector<Frame> stack{frame("libcudart_static_aa"),
                           frame("cudaMemcpyAsync_ptsz"),
                           frame("load()"),
                           frame("cudaMallocHostWrapper()"),
                           frame("main"),
                           frame("__libc_start_main", "/lib/libc.so.6")};
  EXPECT_EQ(libraries(stack), (std::vector<bool>{true, true, false, true, false, true}));
  mark_library_frames(stack, "");
  EXPECT_EQ(runtime_call(stack), "cudaMemcpyAsync");
  EXPECT_EQ(library_call(stack), "");
  EXPECT_EQ(runtime_call({}), "");
}

TEST(Frames, AFunctionOfTheProgramsIsNotTheRuntimesByItsName) {
  std::vector<Frame> stack{frame("libcudart_static_aa"), frame("cudaStreamSynchronize"),
                           frame("cudaGraphsManual(float*)", "/opt/app/demo", "/src/graphs.cu"), frame("main")};
  stack[2].line = 275;
  EXPECT_EQ(libraries(stack), (std::vector<bool>{true, true, false, false}));
  mark_library_frames(stack, "");
  EXPECT_EQ(runtime_call(stack), "cudaStreamSynchronize");
  // Its own functions may have lines, in its headers or all of them.
  stack[2].file = "/usr/local/cuda/include/cuda_runtime.h";
  EXPECT_EQ(libraries(stack), (std::vector<bool>{true, true, true, false}));
  stack[2].file = "/src/cudart/graphs.cpp";
  stack[1].line = 12;
  EXPECT_EQ(libraries(stack), (std::vector<bool>{true, true, true, false}));
}

TEST(Frames, DriverApiProgramHasNoRuntimeCall) {
  std::vector<Frame> stack{frame("copy()"), frame("main")};
  mark_library_frames(stack, "");
  EXPECT_EQ(runtime_call(stack), "");
}

TEST(Frames, LaunchStubOfTheKernelsOwnNameIsFolded) {
  std::vector<Frame> stack{frame("__cudaLaunchKernel"), frame("__device_stub__Z7consumePKf(float const*)"),
                           frame("consume(float const*)"), frame("step()"), frame("consume(float const*)")};
  EXPECT_EQ(libraries(stack, "consume(float const*)"), (std::vector<bool>{true, true, true, false, false}))
      << "only below the first frame of the user";
}

TEST(Frames, HeaderOfTheRuntimeIsFolded) {
  std::vector<Frame> stack{frame("launch<int>(int)", "/opt/app/demo", "/usr/local/cuda/include/cuda_runtime.h"),
                           frame("main")};
  EXPECT_EQ(libraries(stack), (std::vector<bool>{true, false}));
}

TEST(Frames, HeadersOfTheToolkitAreItsWhereverItIsInstalled) {
  for (const char* yes :
       {"/usr/local/cuda/include/cub/device/device_reduce.cuh", "/usr/local/cuda-13.0/include/thrust/copy.h",
        "/usr/local/cuda-13.0/targets/x86_64-linux/include/cub/util_device.cuh",
        "/opt/conda/targets/sbsa-linux/include/cuda/std/atomic",
        "/home/me/venv/lib/python3.12/site-packages/nvidia/cu13/include/cooperative_groups.h"}) {
    // Between the program's functions, too: an algorithm of Thrust's that calls the program's iterator.
    EXPECT_EQ(libraries({frame("iterator()"), frame("call()", "/opt/app/demo", yes), frame("main")}),
              (std::vector<bool>{false, true, false}))
        << yes;
  }
  for (const char* no : {"/home/me/cuda-project/src/copy.cu", "/home/me/app/include/copy.h",
                         "/home/me/targets/include/copy.h", "/home/me/nvidia/app/include/copy.h"}) {
    EXPECT_EQ(libraries({frame("iterator()"), frame("call()", "/opt/app/demo", no), frame("main")}),
              (std::vector<bool>{false, false, false}))
        << no;
  }
}

Frame python(std::string function, std::string file) {
  return {.function = std::move(function), .file = std::move(file), .line = 1, .language = report::Language::Python};
}

/// "function" or "(function)" of a library, innermost first.
std::string shown(const std::vector<Frame>& stack) {
  std::string out;
  for (const Frame& f : stack) out += (out.empty() ? "" : " ") + (f.library ? "(" + f.function + ")" : f.function);
  return out;
}

TEST(Frames, PythonStandsInThePlaceOfItsInterpreter) {
  const std::string torch = "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
  std::vector<Frame> stack{frame("cudaLaunchKernel", "/x/libcudart.so.12"), frame("at::native::add()", torch),
                           frame("method_vectorcall", "/usr/bin/python3.12"),
                           frame("_PyEval_EvalFrameDefault", "/usr/bin/python3.12"),
                           frame("_start", "/usr/bin/python3.12")};
  merge_python_frames(stack, {python("Linear.forward", "/venv/lib/python3.12/site-packages/torch/nn/linear.py"),
                              python("step", "/home/me/train.py")});
  mark_library_frames(stack, "");
  EXPECT_EQ(shown(stack), "(cudaLaunchKernel) (at::native::add()) (Linear.forward) step");
  EXPECT_EQ(runtime_call(stack), "cudaLaunchKernel");
}

TEST(Frames, NativeCodeThatPythonCallsComesFirstAndTheProgramAroundItLast) {
  std::vector<Frame> stack{frame("Py::call()"),
                           frame("mine()", "/home/me/ext.so"),
                           frame("ffi_call", "/lib/libffi.so.8"),
                           frame("_PyObject_Call"),
                           frame("between()", "/home/me/ext.so"),
                           frame("PyRun_SimpleFile"),
                           frame("main")};
  merge_python_frames(stack, {python("run", "script.py")});
  mark_library_frames(stack, "");
  EXPECT_EQ(shown(stack), "Py::call() mine() run between() main");
}

TEST(Frames, WithoutFramesOfPythonTheInterpreterStays) {
  std::vector<Frame> stack{frame("work()", "/venv/lib/python3.12/site-packages/x.so"),
                           frame("_PyEval_EvalFrameDefault", "/usr/bin/python3.12")};
  merge_python_frames(stack, {});
  mark_library_frames(stack, "");
  EXPECT_EQ(shown(stack), "work() _PyEval_EvalFrameDefault");
}

TEST(Frames, PlacesHaveTheLineThatThereIs) {
  Frame place = python("step", "/home/me/train.py");
  place.line = 31;
  EXPECT_EQ(file_and_line(place), "train.py:31");
  EXPECT_EQ(frame_place(place), "train.py:31");
  place.line = 0;
  EXPECT_EQ(file_and_line(place), "train.py");
  place.forward = true;
  EXPECT_EQ(frame_place(place), "backward of train.py");
}

TEST(Frames, CodeGivenAsTextIsTheUsersOnlyIfNoFileIs) {
  std::vector<Frame> compiled = {python("launcher", "<string>"), python("scale", "/home/me/train.py")};
  mark_library_frames(compiled, "");
  EXPECT_EQ(shown(compiled), "(launcher) scale");
  // python -c, and a package that it calls.
  std::vector<Frame> text = {python("Linear.forward", "/venv/lib/python3.12/site-packages/torch/nn/linear.py"),
                             python("<module>", "<string>")};
  mark_library_frames(text, "");
  EXPECT_EQ(shown(text), "(Linear.forward) <module>");
}

TEST(Frames, PackagesAndInterpretersAreKnownByTheirPaths) {
  for (const char* yes :
       {"/venv/lib/python3.12/site-packages/torch/nn/module.py", "/usr/lib/python3/dist-packages/numpy/a.py",
        "/usr/lib/python3.11/threading.py", "/usr/lib/python3.14t/queue.py", "<frozen importlib._bootstrap>",
        "<eval_with_key>.5", "/tmp/torchinductor_me/ab/cabcd.py", "/home/me/packages/streamsan/_regions.py",
        "/opt/streamsan/__init__.py"}) {
    EXPECT_TRUE(is_python_package(yes)) << yes;
  }
  for (const char* no :
       {"/home/me/train.py", "train.py", "<string>", "/home/me/lib/python3.py", "/home/me/torchinductor.py",
        "/home/me/streamsan/train.py", "/home/me/streamsan/_native.so", ""}) {
    EXPECT_FALSE(is_python_package(no)) << no;
  }
  for (const char* yes :
       {"/usr/bin/python3.11", "/usr/bin/python", "/usr/bin/python3.14t", "/x/python3.13td", "/x/libpython3.12.so.1.0",
        "/x/libffi.so.8", "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so"}) {
    EXPECT_TRUE(is_interpreter_module(yes)) << yes;
  }
  for (const char* no : {"/home/me/pythonic", "/home/me/pythont", "/home/me/python3.14tools", "/home/me/train",
                         "/x/_C.cpython-311-x86_64-linux-gnu.so", ""}) {
    EXPECT_FALSE(is_interpreter_module(no)) << no;
  }
}

TEST(Frames, LibraryOfCudaIsNamed) {
  std::vector<Frame> stack{frame("cudaLaunchKernel", "/x/libcublasLt.so.13"), frame("", "/x/libcublas.so.13"),
                           frame("cublasSgemm_v2", "/x/libcublas.so.13"), frame("gemm()"), frame("main")};
  mark_library_frames(stack, "");
  EXPECT_EQ(library_call(stack), "cublasSgemm_v2");
}

/// A call that cuSOLVER makes by itself, for the program's call of it at that address and line.
std::vector<Frame> inside_of_solver(std::uint64_t address, std::uint32_t line) {
  std::vector<Frame> stack{frame("cudaMemcpyAsync", "/x/libcudart.so.13"), frame("", "/x/libcusolver.so.12"),
                           frame("cusolverDnXgeev", "/x/libcusolver.so.12"), frame("solve()")};
  stack.back().file = "/src/solve.cu";
  stack.back().address = address;
  stack.back().line = line;
  mark_library_frames(stack, "");
  return stack;
}

TEST(Frames, WhatCudaCallsForItselfIsNoCallOfTheProgram) {
  const auto made = [](std::vector<Frame> stack) {
    mark_library_frames(stack, "");
    return is_made_by_cuda(stack);
  };
  EXPECT_TRUE(made({frame("libcudart_static_aa"), frame("cudaLaunchKernel"), frame("main")}));
  EXPECT_TRUE(made({frame("cudaMalloc"), frame("main")}));
  EXPECT_TRUE(made({frame("now", "/lib/libstdc++.so.6"), frame("", "/x/libnccl.so.2"), frame("main")}));
  EXPECT_TRUE(made({frame("", "/x/libnvidia-ptxjitcompiler.so.1"), frame("", "/lib/libcuda.so.1"), frame("main")}));
  EXPECT_FALSE(made({frame("now", "/lib/libstdc++.so.6"), frame("main")}));
  EXPECT_FALSE(made({frame("measure()"), frame("cudaLaunchHostFunc"), frame("main")})) << "a host function";
  EXPECT_FALSE(made({frame("_start")}));
  EXPECT_FALSE(made({}));
}

TEST(Frames, TwoCallsOfALibraryInOneCallOfTheProgramLeaveNoRoom) {
  const std::vector<Frame> one = inside_of_solver(0x1000, 40);
  EXPECT_EQ(library_of_both(one, one), "cusolverDnXgeev (solve.cu:40)");
  std::vector<Frame> bare = one;
  bare.back().file.clear();
  EXPECT_EQ(library_of_both(bare, bare), "cusolverDnXgeev");
}

TEST(Frames, BetweenTwoCallsOfTheProgramThereIsRoom) {
  const std::vector<Frame> one = inside_of_solver(0x1000, 40);
  EXPECT_EQ(library_of_both(one, inside_of_solver(0x1010, 40)), "") << "twice in one line";
  EXPECT_EQ(library_of_both(one, inside_of_solver(0x1000, 41)), "") << "inlined into one function";
}

TEST(Frames, ALibraryThatNobodyCalledLeavesNoRoomEither) {
  std::vector<Frame> own = inside_of_solver(0x1000, 40);
  own.pop_back();  // a thread of its own
  EXPECT_EQ(library_of_both(own, own), "libcusolver.so.12");
  EXPECT_EQ(library_of_both(own, inside_of_solver(0x1000, 40)), "");
}

TEST(Frames, TheProgramAndALibraryAreNotInsideOfOne) {
  std::vector<Frame> own{frame("cudaMemcpyAsync", "/x/libcudart.so.13"), frame("solve()")};
  mark_library_frames(own, "");
  EXPECT_EQ(library_of_both(inside_of_solver(0x1000, 40), own), "");
  EXPECT_EQ(library_of_both(own, inside_of_solver(0x1000, 40)), "");
  EXPECT_EQ(library_of_both(own, own), "");
  std::vector<Frame> other{frame("", "/x/libcublas.so.13"), frame("solve()")};
  mark_library_frames(other, "");
  EXPECT_EQ(library_of_both(inside_of_solver(0x1000, 40), other), "") << "of another library";
}

}  // namespace
}  // namespace streamsan::judge
