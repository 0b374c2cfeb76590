// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of the memory behind its first parameter a kernel leaves out, one small kernel per behaviour:
//
//   whole      nothing: it begins at the pointer
//   somewhere  nobody knows
//   inside 8   the first 8 bytes; inside: rows
//   single 8   all but one at 8 bytes; single: all but one somewhere, or but the ends
//   from 1,2   what is in front of where the parameters of these positions say; from: of where something else says
#include <gtest/gtest.h>

#include <string>

#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/tests/mock_unit.h"

namespace streamsan::analyzer {
namespace {

std::string part_of(const std::string& source) {
  const auto unit =
      mock_unit("#include <cuda_runtime.h>\n#define ID (blockIdx.x * blockDim.x + threadIdx.x)\n" + source, "k.cu");
  if (unit == nullptr) return "does not compile";
  const clang::FunctionDecl* kernel = kernel_of(*unit);
  if (kernel == nullptr) return "no kernel";
  KernelEffects effects;
  const ir::Part part = effects.of(*kernel).front().part;
  std::string text;
  switch (part.kind) {
    case ir::Part::Kind::Whole:
      return "whole";
    case ir::Part::Kind::Unknown:
      return "somewhere";
    case ir::Part::Kind::Inside:
      text = "inside";
      break;
    case ir::Part::Kind::Single:
      text = "single";
      break;
    case ir::Part::Kind::From:
      text = "from";
      break;
  }
  if (part.bytes) text += " " + std::to_string(*part.bytes);
  for (unsigned position = 0; position < 32; ++position)
    if ((part.arguments >> position & 1U) != 0) text += (text.back() == 'm' ? " " : ",") + std::to_string(position);
  return text;
}

class KernelPartsTest : public testing::TestWithParam<Case> {};

TEST_P(KernelPartsTest, IsAsWritten) { EXPECT_EQ(part_of(GetParam().source), GetParam().expected); }

std::string name_of_case(const testing::TestParamInfo<Case>& info) { return info.param.name; }

const Case kInside[] = {
    {"UpperBoundOnly", "__global__ void k(float* a, int n) { int i = ID; if (i < n - 1) a[i] = 1; }", "whole"},
    {"AtLeastOne", "__global__ void k(float* a, int n) { int i = ID; if (i >= 1 && i < n) a[i] = 1; }", "inside 4"},
    {"Greater", "__global__ void k(double* a, int n) { int i = ID; if (0 < i) { a[i] = 1; } }", "inside 8"},
    {"NotZero", "__global__ void k(float* a) { int i = ID; if (i) a[i] = 1; }", "inside 4"},
    {"Returns", "__global__ void k(float* a, int n) { int i = ID; if (i < 2 || i >= n) return; a[i] = 1; }",
     "inside 8"},
    {"ReturnsInBlock", "__global__ void k(float* a) { int i = ID; { if (i < 2) return; } a[i] = 1; }", "somewhere"},
    {"Else", "__global__ void k(float* a) { int i = ID; if (i == 0) { } else a[i] = 1; }", "inside 4"},
    {"BehindTheBranch", "__global__ void k(float* a, int* b) { int i = ID; if (i > 0) b[i] = 1; a[i] = 1; }", "whole"},
    {"Shifted", "__global__ void k(float* a) { int i = ID + 3; a[i] = 1; }", "inside 12"},
    {"Neighbour", "__global__ void k(float* a, float* b) { int i = ID; if (i > 0) b[i] = a[i - 1] + a[i]; }", "whole"},
    {"Rows", "__global__ void k(float* a, int w) { int x = threadIdx.x, y = blockIdx.x; if (y > 0) a[y * w + x] = 1; }",
     "inside"},
    {"LoopFromOne", "__global__ void k(float* a, int n) { for (int i = 1; i < n; ++i) a[i] = 1; }", "inside 4"},
    {"LoopBackwards", "__global__ void k(float* a, int n) { for (int i = n; i > 0; --i) a[i - 1] = 1; }", "somewhere"},
    {"AssignedTwice", "__global__ void k(float* a, int n) { int i = ID; if (i > 0) { i = i - 1; a[i] = 1; } }",
     "somewhere"},
    {"Helper",
     "__device__ void put(float* p, int i) { p[i] = 1; }"
     "__global__ void k(float* a) { int i = ID; if (i > 0) put(a, i); }",
     "inside 4"},
    {"HelperWithPointer",
     "__device__ void put(float* p) { *p = 1; } __global__ void k(float* a) { int i = ID; if (i > 0) put(a + i); }",
     "inside 4"},
    {"HelperDecides",
     "__device__ void put(float* p, int i) { if (i > 1) p[i] = 1; } __global__ void k(float* a) { put(a, ID); }",
     "inside 8"},
    {"Lambda", "__global__ void k(float* a) { auto f = [=](int i) { if (i > 0) a[i] = 1; }; f(ID); }", "inside 4"},
    {"BothSides", "__global__ void k(float* a) { int i = ID; if (i > 0) a[i] = 1; else a[i] = 2; }", "whole"},
    {"TestOfTheSize", "__global__ void k(float* a, int n) { if (n == 0) return; a[threadIdx.x * n] = 1; }", "whole"},
};
INSTANTIATE_TEST_SUITE_P(Inside, KernelPartsTest, testing::ValuesIn(kInside), name_of_case);

const Case kSingle[] = {
    {"Star", "__global__ void k(float* a) { *a = 1; }", "single 0"},
    {"FixedIndex", "__global__ void k(float* a) { a[2] = 1; }", "single 8"},
    {"TwoFixed", "__global__ void k(float* a) { a[2] = a[1]; }", "single 4"},
    {"FixedAndMore", "__global__ void k(float* a) { a[threadIdx.x] = a[0]; }", "whole"},
    {"Equal", "__global__ void k(float* a) { int i = ID; if (i == 0) a[i] = 1; }", "single 0"},
    {"Last", "__global__ void k(float* a, int n) { int i = ID; if (i == n - 1) a[i] = 1; }", "single"},
    {"Ends", "__global__ void k(float* a, int n) { int i = ID; if (i == 0 || i == n - 1) a[i] = 1; }", "single 0"},
    {"NotInside", "__global__ void k(float* a, int n) { int i = ID; if (i > 0 && i < n - 1) return; a[i] = 1; }",
     "single 0"},
    {"OneOfABlock", "__global__ void k(float* a) { if (threadIdx.x == 0) a[blockIdx.x] = 1; }", "whole"},
};
INSTANTIATE_TEST_SUITE_P(Single, KernelPartsTest, testing::ValuesIn(kSingle), name_of_case);

const Case kFrom[] = {
    {"Offset", "__global__ void k(float* a, int first) { a[first + threadIdx.x] = 1; }", "from 1"},
    {"OffsetPointer", "__global__ void k(float* a, int n, int first) { float* p = a + first; p[threadIdx.x] = n; }",
     "from 2"},
    {"Condition", "__global__ void k(float* a, int n, int halo) { int i = ID; if (i >= halo && i < n) a[i] = 1; }",
     "from 2"},
    {"Product", "__global__ void k(float* a, int slot, int n) { a[slot * n + threadIdx.x] = 1; }", "from 1,2"},
    {"Difference", "__global__ void k(float* a, int n) { a[n - 1 - threadIdx.x] = 1; }", "somewhere"},
    {"PitchOnly", "__global__ void k(float* a, int w) { a[blockIdx.x * w + threadIdx.x] = 1; }", "whole"},
};
INSTANTIATE_TEST_SUITE_P(From, KernelPartsTest, testing::ValuesIn(kFrom), name_of_case);

const Case kFirstThread[] = {
    {"RowOfIndex", "__global__ void k(float* a, int w) { int i = ID, y = i / w; if (y > 0) a[i] = 1; }", "somewhere"},
    {"RowOfIndexReturns", "__global__ void k(float* a, int w) { int i = ID; if (i / w < 2) return; a[i] = 1; }",
     "somewhere"},
    {"AnotherIndex", "__global__ void k(float* a) { if (threadIdx.y == 3) a[threadIdx.x] = 1; }", "whole"},
    {"Odd", "__global__ void k(float* a, int n) { int i = ID; if (i % 2 == 1) a[i] = 1; }", "somewhere"},
    {"Even", "__global__ void k(float* a, int n) { int i = ID; if (i % 2 == 0) a[i] = 1; }", "whole"},
    {"Masked", "__global__ void k(float* a, const int* m) { int i = ID; if (m[i] != 0) a[i] = 1; }", "somewhere"},
    {"Looked", "__global__ void k(float* a, const int* m) { a[m[threadIdx.x]] = 1; }", "somewhere"},
    {"OffsetInMemory", "__global__ void k(float* a, const int* m) { a[*m + threadIdx.x] = 1; }", "from"},
    {"ByMode", "__global__ void k(float* a, bool mode) { if (mode) a[threadIdx.x] = 1; }", "whole"},
    {"GridStride", "__global__ void k(float* a, int n) { for (int i = ID; i < n; i += gridDim.x * 32) a[i] = 1; }",
     "whole"},
    {"LoopOfRounds", "__global__ void k(float* a, int n) { for (int r = 0; r < n; ++r) a[r * 32 + threadIdx.x] = 1; }",
     "whole"},
    {"HelperComputes",
     "__device__ int at(int x, int y, int w) { return y * w + x; }"
     "__global__ void k(float* a, int w) { a[at(threadIdx.x, blockIdx.x, w)] = 1; }",
     "whole"},
    {"HelperShifts",
     "__device__ int at(int x, int y, int w) { return (y + 1) * w + x; }"
     "__global__ void k(float* a, int w) { a[at(threadIdx.x, blockIdx.x, w)] = 1; }",
     "inside"},
    {"HelperIsNotSeen",
     "__device__ int at(int x);"
     "__global__ void k(float* a) { a[at(threadIdx.x)] = 1; }",
     "somewhere"},
    {"HelperUnderCondition",
     "__device__ void put(float* p, int i) { p[i] = 1; }"
     "__global__ void k(float* a, int w) { int i = ID; if (i / w > 0) put(a, i); }",
     "somewhere"},
    {"OneAtTheBegin", "__global__ void k(float* a, const int* m) { a[m[threadIdx.x]] = 1; a[threadIdx.x] = 2; }",
     "whole"},
    {"Member", "struct S { int n; float x[64]; }; __global__ void k(S* a) { a->x[threadIdx.x] = 1; }", "inside 4"},
    {"MethodOfElement",
     "struct S { int n; __device__ void set(int v) { n = v; } };"
     "__global__ void k(S* a) { a[threadIdx.x].set(1); }",
     "whole"},
};
INSTANTIATE_TEST_SUITE_P(FirstThread, KernelPartsTest, testing::ValuesIn(kFirstThread), name_of_case);

const Case kMoved[] = {
    {"Pointer", "__global__ void k(float* a) { a += 8; a[threadIdx.x] = 1; }", "inside 32"},
    {"PointerAfterwards", "__global__ void k(float* a) { a[threadIdx.x] = 1; a += 8; }", "whole"},
    {"PointerByBlock", "__global__ void k(float* a, int n) { int b = blockIdx.y; a += b * n; a[threadIdx.x] = 1; }",
     "whole"},
    {"PointerByParameter", "__global__ void k(float* a, int n) { a += n; a[threadIdx.x] = 1; }", "from 1"},
    {"PointerOnCondition", "__global__ void k(float* a, int n) { if (n) a += 64; a[threadIdx.x] = 1; }", "from"},
    {"PointerIfThere", "__global__ void k(float* a, int n) { if (a) a += blockIdx.x * n; a[threadIdx.x] = 1; }",
     "whole"},
    {"PointerInLoop", "__global__ void k(float* a) { for (int r = 0; r < 4; ++r) { a += 8; a[threadIdx.x] = r; } }",
     "from"},
    {"PointerAfterRound", "__global__ void k(float* a) { for (int r = 0; r < 4; ++r) { a[threadIdx.x] = r; a += 8; } }",
     "whole"},
    {"BehindTheLoop",
     "__global__ void k(float* a, int n) { float* p = a; for (int r = 0; r < n; ++r) p += 8; p[threadIdx.x] = 1; }",
     "from"},
    {"ByReference",
     "__device__ void move(float*& p) { p += 8; } __global__ void k(float* a) { move(a); a[threadIdx.x] = 1; }",
     "from"},
    {"PointerSet", "__global__ void k(float* a) { float* p; p = a + 8; p[threadIdx.x] = 1; }", "inside 32"},
    {"PostIncrement", "__global__ void k(float* a) { float* p = a + threadIdx.x; *p++ = 1; *p++ = 2; }", "whole"},
    {"PreIncrement", "__global__ void k(float* a) { float* p = a + threadIdx.x; *++p = 1; }", "inside 4"},
    {"NumberSet", "__global__ void k(float* a) { int i; i = ID + 8; a[i] = 1; }", "inside 32"},
    {"NumberSetInFor", "__global__ void k(float* a, int n) { int i; for (i = ID; i < n; i += 32) a[i] = 1; }", "whole"},
    {"NumberMoved", "__global__ void k(float* a) { int i = ID; i += 8; a[i] = 1; }", "inside 32"},
    {"NumberCaptured", "__global__ void k(float* a) { int i = ID; i += 8; auto f = [=] { a[i] = 1; }; f(); }",
     "inside 32"},
    {"Field", "struct S { float* p; }; __global__ void k(S s) { s.p += 8; s.p[threadIdx.x] = 1; }", "from"},
    {"FieldByBlock", "struct S { float* p; }; __global__ void k(S s) { s.p += blockIdx.x * 8; s.p[threadIdx.x] = 1; }",
     "whole"},
    {"FieldByHelper",
     "struct S { float* p; }; template <class T> __device__ void move(T& s, int by) { s.p += by; }"
     "__global__ void k(S s) { move(s, 8); s.p[threadIdx.x] = 1; }",
     "from"},
    {"FieldByHelperByNothing",
     "struct S { float* p; }; template <class T> __device__ void move(T& s, int by) { s.p += by; }"
     "__global__ void k(S s) { move(s, blockIdx.x); s.p[threadIdx.x] = 1; }",
     "whole"},
    {"FieldByMethod",
     "struct S { float* p; __device__ void skip(int n) { p += n; } __device__ void set(int i) { p[i] = 1; } };"
     "__global__ void k(S s) { s.skip(8); s.set(threadIdx.x); }",
     "from"},
    {"View", "struct S { float* p; int n; }; __global__ void k(float* a) { S s{a + 8, 1}; s.p[threadIdx.x] = 1; }",
     "from"},
    {"ViewOfAll", "struct S { float* p; int n; }; __global__ void k(float* a) { S s{a, 1}; s.p[threadIdx.x] = 1; }",
     "whole"},
    {"ViewByConstructor",
     "struct S { float* p; __device__ S(float* q) : p(q) {} __device__ void set(int i) { p[i] = 1; } };"
     "__global__ void k(float* a) { S s(a + 8); s.set(threadIdx.x); }",
     "from"},
    {"ViewMade",
     "struct S { float* p; int n; }; __device__ S make(float* p, int n) { return S{p, n}; }"
     "__global__ void k(float* a) { S s = make(a + 8, 1); s.p[threadIdx.x] = 1; }",
     "from"},
};
INSTANTIATE_TEST_SUITE_P(Moved, KernelPartsTest, testing::ValuesIn(kMoved), name_of_case);

const Case kChoices[] = {
    {"OneOfTwo", "__global__ void k(float* a, int n) { if (n == 3) a[ID] = 1; else a[64 + ID] = 1; }", "inside 256"},
    {"BothAtBegin", "__global__ void k(float* a, int n) { if (n == 3) a[ID] = 1; else a[ID] = 2; }", "whole"},
    {"BothUnderOne", "__global__ void k(float* a, int n) { if (n == 3) { a[ID] = 1; a[64 + ID] = 1; } }", "whole"},
    {"Sometimes", "__global__ void k(float* a, int n) { a[64 + ID] = 1; if (n == 3) a[0] = 1; }", "inside 256"},
    {"Always", "__global__ void k(float* a, int n) { a[64 + ID] = 1; a[0] = 1; }", "whole"},
    {"SmallLaunch", "__global__ void k(float* a, int n) { if (n < 5) a[ID] = 1; else a[64 + ID] = 1; }", "inside 256"},
    {"Continue",
     "__global__ void k(float* a, int n) { for (int j = 0; j < n; ++j) { if (j < 64) continue; a[j] = 1; } }",
     "inside 256"},
    {"ContinueAndOdd",
     "__global__ void k(float* a, int n) { for (int j = 64; j < n; ++j) a[j] = 1;"
     " for (int j = 0; j < 64; j += 2) if (j & 1) a[j] = 1; }",
     "from"},
    {"LowerLimitInMemory", "__global__ void k(float* a, const int* m) { int i = ID; if (i < *m) return; a[i] = 1; }",
     "from"},
    {"UpperLimitInMemory", "__global__ void k(float* a, const int* m) { int i = ID; if (i >= *m) return; a[i] = 1; }",
     "whole"},
    {"OffsetOfProgram", "__constant__ int first; __global__ void k(float* a) { a[first + threadIdx.x] = 1; }", "from"},
    {"PitchOfProgram", "__constant__ int w; __global__ void k(float* a) { a[blockIdx.x * w + threadIdx.x] = 1; }",
     "whole"},
    {"FunctorFromItsOwn",
     "struct F { float* p; int lo; __device__ void operator()(int i) const { if (i < lo) return; p[i] = 1; } };"
     "template <class T> __global__ void k(T f, int n) { for (int i = ID; i < n; i += 32) f(i); }"
     "template __global__ void k<F>(F, int);",
     "somewhere"},
    {"FunctorUpToItsOwn",
     "struct F { float* p; int hi; __device__ void operator()(int i) const { if (i >= hi) return; p[i] = 1; } };"
     "template <class T> __global__ void k(T f, int n) { for (int i = ID; i < n; i += 32) f(i); }"
     "template __global__ void k<F>(F, int);",
     "whole"},
    {"ModeOfHelper",
     "__device__ void put(float* p, int i, int mode) { if (mode == 1) p[i] = 1; }"
     "__global__ void k(float* a, int mode) { put(a, threadIdx.x, mode); }",
     "whole"},
    {"Ends", "__global__ void k(float* a) { if (threadIdx.x < 8) { asm volatile(\"exit;\"); } a[threadIdx.x] = 1; }",
     "somewhere"},
    {"DoesNotEnd",
     "__global__ void k(float* a) { if (threadIdx.x < 8) { asm volatile(\"nop;\"); } a[threadIdx.x] = 1; }", "whole"},
};
INSTANTIATE_TEST_SUITE_P(Choices, KernelPartsTest, testing::ValuesIn(kChoices), name_of_case);

const Case kResults[] = {
    {"Accessor",
     "struct S { float* p; __device__ float& at(int i) { return p[i]; } };"
     "__global__ void k(S s) { s.at(ID) = 1; }",
     "whole"},
    {"AccessorBehind",
     "struct S { float* p; __device__ float& at(int i) { return p[i + 8]; } };"
     "__global__ void k(S s) { s.at(ID) = 1; }",
     "inside 32"},
    {"Subscript",
     "struct S { float* p; __device__ float& operator[](int i) { return p[i + 8]; } };"
     "__global__ void k(S s) { s[ID] = 1; }",
     "inside 32"},
    {"Pointer",
     "__device__ float* at(float* p, int i) { return p + i; } __global__ void k(float* a) { *at(a, ID) = 1; }",
     "whole"},
    {"PointerBehind",
     "__device__ float* at(float* p, int i) { return p + i; } __global__ void k(float* a) { *at(a + 8, ID) = 1; }",
     "inside 32"},
    {"Clamp",
     "__device__ int clamp(int i, int lo, int hi) { if (i < lo) return lo; if (i > hi) return hi; return i; }"
     "__global__ void k(float* a) { a[clamp(ID, 8, 640)] = 1; }",
     "inside 32"},
    {"ClampToBegin",
     "__device__ int clamp(int i, int lo, int hi) { if (i < lo) return lo; if (i > hi) return hi; return i; }"
     "__global__ void k(float* a) { a[clamp(ID, 0, 64)] = 1; }",
     "somewhere"},
};
INSTANTIATE_TEST_SUITE_P(Results, KernelPartsTest, testing::ValuesIn(kResults), name_of_case);

}  // namespace
}  // namespace streamsan::analyzer
