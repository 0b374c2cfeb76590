// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels do before they have waited for the grid in front. Each kernel is called `k`; what it does is written
//
//   "a:r b:w? waits triggers?"    before any wait: a is read; on some path: b is written; it waits; perhaps it triggers
//
// In the sources W is the wait and T the trigger.
#include <gtest/gtest.h>

#include <string>

#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/tests/mock_unit.h"

namespace streamsan::analyzer {
namespace {

std::string letters(ir::Mode mode) {
  switch (mode) {
    case ir::Mode::Read:
      return "r";
    case ir::Mode::Write:
      return "w";
    case ir::Mode::ReadWrite:
      return "rw";
    case ir::Mode::Atomic:
      return "a";
    case ir::Mode::Unknown:
      return "?";
  }
  return "";
}

std::string behaviour_of(const std::string& source) {
  const std::string head =
      "#include <cuda_runtime.h>\n"
      "#define W cudaGridDependencySynchronize();\n#define T cudaTriggerProgrammaticLaunchCompletion();\n";
  const auto unit = mock_unit(head + source, "k.cu");
  if (unit == nullptr) return "does not compile";
  const clang::FunctionDecl* kernel = kernel_of(*unit);
  if (kernel == nullptr) return "no kernel";
  KernelEffects effects;
  std::string text;
  const auto add = [&](const std::string& word, ir::Certainty certainty) {
    if (certainty != ir::Certainty::No)
      text += (text.empty() ? "" : " ") + word + (certainty == ir::Certainty::Perhaps ? "?" : "");
  };
  const auto& found = effects.of(*kernel);
  for (std::size_t i = 0; i < found.size(); ++i)
    add(kernel->getParamDecl(static_cast<unsigned>(i))->getNameAsString() + ":" + letters(found[i].early),
        found[i].before_wait);
  const GridBehaviour behaviour = effects.behaviour(*kernel);
  add("waits", behaviour.waits);
  add("triggers", behaviour.triggers_first);
  return text;
}

class GridBehaviourTest : public testing::TestWithParam<Case> {};

TEST_P(GridBehaviourTest, IsAsWritten) { EXPECT_EQ(behaviour_of(GetParam().source), GetParam().expected); }

const Case kCases[] = {
    {"Never", "__global__ void k(int* a, const int* b) { a[0] = b[0]; }", "a:w b:r"},
    {"First", "__global__ void k(int* a, const int* b) { W a[0] = b[0]; }", "waits"},
    {"Between", "__global__ void k(int* a, const int* b) { int x = b[0]; W a[0] = x; }", "b:r waits"},
    {"OneBranch", "__global__ void k(int* a, int n) { if (n) { W } a[0] = 1; }", "a:w? waits?"},
    {"BothBranches", "__global__ void k(int* a, int n) { if (n) { W } else { W } a[0] = 1; }", "waits"},
    {"OtherBranch", "__global__ void k(int* a, int n) { if (n) { W } else { a[0] = 1; } }", "a:w waits?"},
    {"EarlyReturn", "__global__ void k(int* a, int n) { if (n) return; W a[0] = 1; }", "waits?"},
    {"Constant",
     "template <bool kWait> __global__ void k(int* a) { if constexpr (kWait) { W } a[0] = 1; }"
     " template __global__ void k<true>(int*);",
     "waits"},
    {"OneThreadAndBarrier", "__global__ void k(int* a) { if (threadIdx.x == 0) { W } __syncthreads(); a[0] = 1; }",
     "waits"},
    {"InALoop", "__global__ void k(int* a, int n) { for (int i = 0; i < n; ++i) { W a[i] = 1; } }", "waits?"},
    {"BehindALoop", "__global__ void k(int* a, int n) { for (int i = 0; i < n; ++i) a[i] = 1; W }", "a:w waits"},
    {"Break", "__global__ void k(int* a, int n) { while (true) { if (n) { W break; } W break; } a[0] = 1; }", "waits"},
    {"Switch", "__global__ void k(int* a, int n) { switch (n) { case 0: W break; default: W } a[0] = 1; }", "waits"},
    {"SwitchWithoutDefault", "__global__ void k(int* a, int n) { switch (n) { case 0: W break; } a[0] = 1; }",
     "a:w? waits?"},
    {"InAFunction", "__device__ void f() { W } __global__ void k(int* a) { f(); a[0] = 1; }", "waits"},
    {"AccessInAFunction",
     "__device__ int f(int* p) { return *p; } __global__ void k(int* a) { int x = f(a); W a[0] = x; }", "a:r waits"},
    {"AccessBehindTheWaitOfAFunction", "__device__ int f(int* p) { W return *p; } __global__ void k(int* a) { f(a); }",
     "waits"},
    {"Constructor",
     "struct S { int x; __device__ S(const int* p) : x(*p) {} };"
     "__global__ void k(const int* b, int* a) { S s(b); W a[0] = s.x; }",
     "b:r waits"},
    {"Lambda", "__global__ void k(const int* b, int* a) { auto f = [=] { return b[0]; }; int x = f(); W a[0] = x; }",
     "b:r waits"},
    {"UnknownCode", "__device__ void f(); __global__ void k(int* a) { f(); a[0] = 1; }", "a:w? waits?"},
    {"ForOneArchitecture",
     "__global__ void k(int* a) {\n#if __CUDA_ARCH__ >= 900\n W\n"
     " asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n#endif\n a[0] = 1; }",
     "waits"},
    {"UnknownForOneArchitecture",
     "__device__ void f(int*); __global__ void k(int* a) {\n#if __CUDA_ARCH__ >= 900\n f(a);\n"
     "#endif\n a[0] = 1; }",
     "a:w? waits?"},
    {"Trigger", "__global__ void k(int* a) { T W a[0] = 1; }", "waits triggers"},
    {"TriggerBehind", "__global__ void k(int* a) { W T a[0] = 1; }", "waits"},
    {"SharedMemory", "__global__ void k(int* a) { __shared__ int x[32]; x[threadIdx.x] = 1; W a[0] = x[0]; }", "waits"},
};
INSTANTIATE_TEST_SUITE_P(Kernels, GridBehaviourTest, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace streamsan::analyzer
