// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings about the backward pass of PyTorch: what is called there is known by the line of the forward operation.
#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kA = 0xA0;
constexpr std::uint64_t kB = 0xB0;
constexpr std::uint64_t kBuffer = 0x7000'0000;

/// A kernel writes a gradient that others read, of operations that were called in these lines (0: not known).
Judged from_backward_pass(std::initializer_list<std::uint64_t> lines) {
  const std::string packages = "/venv/lib/python3.12/site-packages/";
  trace::TraceBuilder trace;
  trace.module(packages + "torch/lib/libtorch_cuda.so", 0x100000, 0x100000, 0x110000);
  trace.module(packages + "torch/lib/libtorch_python.so", 0x200000, 0x200000, 0x210000);
  trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
  trace.python_frame(1, "Linear.forward", packages + "torch/nn/linear.py", 7);
  trace.python_frame(2, "step", "/home/me/train.py", 20);
  for (const std::uint64_t line : {30, 31}) trace.python_frame(line, "step", "/home/me/train.py", line);
  trace.function(1, "_Z4fillPf");
  trace.function(2, "_ZN2at6native3sumIfEEvPKT_");
  trace.at({0x100030, 0x900010}, {2}).stream_create(kA, trace::NonBlocking::Yes);
  trace.stream_create(kB, trace::NonBlocking::Yes);
  trace.alloc(kBuffer, 4096);
  trace.at({0x100010, 0x900010}, {1, 2}).launch(kA, 1, {kBuffer});
  for (const std::uint64_t line : lines) {
    if (line)
      trace.at({0x100020, 0x200010}, {}, {1, line}).launch(kB, 2, {kBuffer});
    else
      trace.at({0x100020, 0x200010}).launch(kB, 2, {kBuffer});
  }
  return judged(trace);
}

TEST(BackwardPass, NamesTheForwardOperation) {
  const Judged one = from_backward_pass({30});
  ASSERT_EQ(one.findings.size(), 1u);
  EXPECT_NE(one.findings[0].fix.find("before kernel sum (backward of train.py:30)"), std::string::npos)
      << one.findings[0].fix;
  const std::vector<report::Frame>& stack = one.findings[0].accesses[0].stack;
  ASSERT_EQ(stack.size(), 4u);
  EXPECT_FALSE(stack[1].forward);
  EXPECT_TRUE(stack[1].library) << "PyTorch's own";
  EXPECT_EQ(stack[2].function, "Linear.forward");
  EXPECT_TRUE(stack[2].forward && stack[2].library);
  EXPECT_EQ(stack[3].line, 30u);
  EXPECT_TRUE(stack[3].forward && !stack[3].library && stack[3].language == report::Language::Python);

  // Two operations of the forward pass are two places, though the engine does the same for both.
  EXPECT_EQ(from_backward_pass({30, 31}).findings.size(), 2u);
  EXPECT_EQ(from_backward_pass({30, 30}).findings.size(), 1u);
  EXPECT_EQ(from_backward_pass({30, 30}).findings[0].fingerprint, one.findings[0].fingerprint);

  const Judged none = from_backward_pass({0});
  ASSERT_EQ(none.findings.size(), 1u);
  EXPECT_EQ(none.findings[0].fix.find("backward of"), std::string::npos) << none.findings[0].fix;
  EXPECT_NE(none.findings[0].fingerprint, one.findings[0].fingerprint);
}

}  // namespace
}  // namespace streamsan::judge
