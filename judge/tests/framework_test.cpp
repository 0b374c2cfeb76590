// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/framework.h"

#include <gtest/gtest.h>

#include "judge/frames.h"

namespace streamsan::judge {
namespace {

using report::Frame;
using Stack = std::vector<Frame>;

const std::string kPackages = "/venv/lib/python3.12/site-packages/";

Frame native(std::string module, std::string function = "") {
  return {.function = std::move(function), .module = std::move(module)};
}

Frame python(std::string function, std::string file, std::uint32_t line = 1) {
  return {.function = std::move(function), .file = std::move(file), .line = line, .language = report::Language::Python};
}

Frame train(std::uint32_t line = 1) { return python("step", "/home/me/train.py", line); }

/// As reports have it.
Stack marked(Stack stack) {
  mark_library_frames(stack, "");
  return stack;
}

Framework of(Stack stack, std::string_view kernel = "") { return submitter(marked(std::move(stack)), kernel); }

const Frame kCudart = native("/x/libcudart.so.13", "cudaLaunchKernel");
const Frame kTorch = native(kPackages + "torch/lib/libtorch_cuda.so");
const Frame kBindings = native(kPackages + "torch/lib/libtorch_python.so");
const Frame kCupy = native(kPackages + "cupy_backends/cuda/api/driver.cpython-312-x86_64-linux-gnu.so");
const Frame kNumba = python("_Kernel.launch", kPackages + "numba/cuda/dispatcher.py");
const Frame kNumbaCuda = python("_Kernel.launch", kPackages + "numba_cuda/numba/cuda/dispatcher.py");

TEST(Framework, IsKnownByTheInnermostFrameThatBelongsToOne) {
  EXPECT_EQ(of({kCudart, kTorch, kBindings, train()}), Framework::PyTorch);
  EXPECT_EQ(of({native("/home/me/pytorch/build/lib/libc10_cuda.so"), train()}), Framework::PyTorch) << "built by hand";
  EXPECT_EQ(of({kCupy, native(kPackages + "cupy/_core/_kernel.cpython-312.so"), train()}), Framework::CuPy);
  for (const Frame& numba : {kNumba, kNumbaCuda}) {
    EXPECT_EQ(of({native(kPackages + "cuda/bindings/cydriver.cpython-312.so"), numba, train()}), Framework::Numba);
  }
  EXPECT_EQ(of({kNumba, python("apply", kPackages + "torch/autograd/function.py"), train()}), Framework::Numba);
  EXPECT_EQ(of({native(kPackages + "torchvision/_C.so"), kTorch, kBindings, train()}), Framework::PyTorch);
}

Frame forward(Frame frame) {
  frame.forward = true;
  return frame;
}

TEST(Framework, OfTheBackwardPassIsPyTorchAndItsLineIsThatOfTheForwardOperation) {
  const Frame wait = python("Stream.wait_event", kPackages + "torch/cuda/streams.py");
  const Stack engine{kCudart, kTorch, native(kPackages + "torch/lib/libtorch_cpu.so")};
  const auto with = [&engine](std::initializer_list<Frame> more) {
    Stack stack = engine;
    stack.insert(stack.end(), more);
    return marked(std::move(stack));
  };
  EXPECT_EQ(of(with({forward(train(12))})), Framework::PyTorch);
  EXPECT_EQ(python_place(with({forward(wait), forward(train(12))})), " (backward of train.py:12)");
  EXPECT_EQ(python_place(with({train(40), forward(train(12))})), " (train.py:40)") << "a hook, which is nearer";
  EXPECT_EQ(python_place(engine), "");
  // What the forward pass called is not called now.
  EXPECT_EQ(event_method(with({forward(wait), forward(train(12))}), "record"), "record()");
  EXPECT_EQ(event_method(with({wait, train(12)}), "record"), "wait_event()");
  EXPECT_FALSE(event_in_reach(Framework::PyTorch, with({forward(wait), forward(train(12))})));
  EXPECT_TRUE(event_in_reach(Framework::PyTorch, with({wait, train(12)})));
}

TEST(Framework, KernelsOfCupyAreKnownByTheirNames) {
  const Stack stack{native("driver.cpython-312-x86_64-linux-gnu.so"), train()};
  EXPECT_EQ(of(stack, "cupy_add__float32_float_float32"), Framework::CuPy);
  EXPECT_EQ(of(stack, "mine(float*)"), Framework::None);
  EXPECT_EQ(of({native("/opt/app/demo")}, "cupy_add__float32_float_float32"), Framework::None) << "no Python";
}

TEST(Framework, LaunchesOfTritonAreInTheStreamsOfPyTorch) {
  const Frame launcher = native("/home/me/.triton/cache/ab/__triton_launcher.cpython-312-x86_64-linux-gnu.so");
  EXPECT_EQ(of({launcher, python("JITFunction.run", kPackages + "triton/runtime/jit.py"), train()}),
            Framework::PyTorch);
}

TEST(Framework, TheThreadOfABackwardPassHasNoLineOfPython) {
  EXPECT_EQ(of({kCudart, kTorch, kBindings}), Framework::PyTorch);
}

TEST(Framework, ProgramsOfCppHaveNone) {
  EXPECT_EQ(of({kCudart, native("/opt/libtorch/lib/libtorch_cuda.so"), native("/opt/app/demo", "main")}),
            Framework::None);
  EXPECT_EQ(of({native("/home/me/cupy/_core/demo", "main")}), Framework::None);
  EXPECT_EQ(of({}), Framework::None);
}

TEST(Framework, WhatTheProgramSubmitsByItselfIsItsOwn) {
  const Frame module = python("Module._call_impl", kPackages + "torch/nn/modules/module.py");
  EXPECT_EQ(of({train(), module, train()}), Framework::None) << "ctypes";
  EXPECT_EQ(of({native("/home/me/ext.cpython-312.so", "launch()"), kTorch, kBindings, train()}), Framework::None);
  EXPECT_EQ(of({train()}), Framework::None);
  EXPECT_EQ(of({python("f", "/home/me/torch/mine.py")}), Framework::None);
  EXPECT_EQ(of({python("f", kPackages + "other/torch/theirs.py"), train()}), Framework::None);
}

TEST(Framework, StreamsOfAProcessGroupAreOutOfReach) {
  EXPECT_EQ(of({native("/x/libnccl.so.2", "ncclAllReduce"), kTorch, kBindings, train()}), Framework::None);
}

TEST(Framework, BothHalvesAreOfOne) {
  const Stack torch = marked({kTorch, kBindings, train()});
  const Stack cupy = marked({kCupy, train()});
  const Stack python_alone = marked({train()});
  const Stack demo = marked({native("/opt/app/demo", "main")});
  EXPECT_EQ(submitter_of_both({torch, ""}, {torch, ""}), Framework::PyTorch);
  EXPECT_EQ(submitter_of_both({torch, ""}, {cupy, ""}), Framework::None);
  EXPECT_EQ(submitter_of_both({torch, ""}, {python_alone, ""}), Framework::None);
  EXPECT_EQ(submitter_of_both({python_alone, ""}, {python_alone, ""}), Framework::None);
  EXPECT_EQ(submitter_of_both({torch, "", true, false}, {torch, ""}), Framework::None) << "a stream of cuDNN's own";
  // An access by the host gets the words of the other half.
  EXPECT_EQ(submitter_of_both({python_alone, "", false}, {torch, ""}), Framework::PyTorch);
  EXPECT_EQ(submitter_of_both({cupy, ""}, {python_alone, "", false}), Framework::CuPy);
  EXPECT_EQ(submitter_of_both({demo, "", false}, {torch, ""}), Framework::None);
  EXPECT_EQ(submitter_of_both({cupy, "", false}, {torch, ""}), Framework::None);
}

TEST(Framework, PlacesAreLinesOfTheProgramsOwnPython) {
  EXPECT_EQ(python_place(marked({kTorch, python("Linear.forward", kPackages + "torch/nn/linear.py"), train(88)})),
            " (train.py:88)");
  EXPECT_EQ(python_place(marked({native("driver.cpython-312.so"), train(88)})), " (train.py:88)")
      << "also where a module has lost its folder";
  EXPECT_EQ(python_place(marked({kTorch, python("Linear.forward", kPackages + "torch/nn/linear.py"),
                                 python("call", "/usr/lib/python3.12/contextlib.py"),
                                 python("Worker.step", kPackages + "server/worker.py", 7)})),
            " (worker.py:7)")
      << "a program that is installed itself";
  EXPECT_EQ(python_place(marked({kTorch, kBindings})), "");
}

TEST(Framework, TheMethodThatTheProgramCalled) {
  const std::string streams = kPackages + "torch/cuda/streams.py";
  EXPECT_EQ(
      event_method(marked({kCudart, kBindings, python("Event.record", streams), python("Stream.record_event", streams),
                           python("Stream.wait_stream", streams), train(), python("wait", kPackages + "torch/x.py")}),
                   "record"),
      "wait_stream()");
  EXPECT_EQ(event_method(marked({kCudart, kBindings, python("Event.record", streams),
                                 python("FSDP.forward", kPackages + "torch/distributed/fsdp/x.py"), train()}),
                         "record"),
            "record()");
  EXPECT_EQ(event_method(marked({kCupy, train()}), "wait_event"), "wait_event()");
}

TEST(Framework, EventsThatTheProgramCanReach) {
  const Frame record = python("Event.record", kPackages + "torch/cuda/streams.py");
  const Frame wait_stream = python("Stream.wait_stream", kPackages + "torch/cuda/streams.py");
  const Frame backward = python("Tensor.backward", kPackages + "torch/_tensor.py");
  const auto reach = [](Stack stack) { return event_in_reach(Framework::PyTorch, marked(std::move(stack))); };
  EXPECT_TRUE(reach({kCudart, kBindings, record, train()}));
  EXPECT_TRUE(reach({kCudart, kBindings, record, wait_stream, train()}));
  EXPECT_TRUE(reach({kCudart, kBindings, record, python("Worker.step", kPackages + "server/worker.py")}));
  EXPECT_TRUE(reach({kCudart, kBindings, wait_stream, train(), backward, train()})) << "a hook of the program's";

  EXPECT_FALSE(reach({kCudart, kTorch, kBindings, train()})) << "a copy between devices";
  EXPECT_FALSE(reach({kCudart, kTorch, kBindings, backward, train()}));
  EXPECT_FALSE(reach({kCudart, kTorch, kBindings})) << "the thread of a backward pass";
  EXPECT_FALSE(reach({kCudart, kBindings, record, python("FSDP.forward", kPackages + "torch/fsdp/x.py"), train()}));
  EXPECT_FALSE(reach({kCudart, kTorch, kBindings, train(), record, train()})) << "a method further out";
  EXPECT_FALSE(reach({}));

  EXPECT_TRUE(event_in_reach(Framework::CuPy, marked({kCupy, train()}))) << "its methods are compiled";
  EXPECT_TRUE(event_in_reach(Framework::None, {}));
}

}  // namespace
}  // namespace streamsan::judge
