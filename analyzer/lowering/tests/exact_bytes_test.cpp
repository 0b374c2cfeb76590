// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that a launch of k(float* a, int w, int h), with two blocks of 8 by 4 threads, 10 and 3, touches for certain,
// from `a` on: "w 0:40" is a write of the first 40, "r 4:8/40*3" a read of three rows of 8 bytes, 40 apart.
#include "analyzer/lowering/exact_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "analyzer/lowering/tests/mock_unit.h"

namespace streamsan::analyzer {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1} << 40;

std::string text_of(const ExactBytes& bytes) {
  std::string text = bytes.mode == ir::Mode::Read ? "r " : bytes.mode == ir::Mode::Write ? "w " : "a ";
  text += std::to_string(bytes.bytes.base - kMemory) + ":" + std::to_string(bytes.bytes.width);
  if (bytes.bytes.rows > 1) text += "/" + std::to_string(bytes.bytes.pitch) + "*" + std::to_string(bytes.bytes.rows);
  return text;
}

std::string exact(const std::string& body) {
  const auto unit = mock_unit("#include <cuda_runtime.h>\n" + body, "k.cu");
  const clang::FunctionDecl* kernel = unit == nullptr ? nullptr : kernel_of(*unit);
  if (kernel == nullptr) return "does not compile";
  const std::uint64_t pointer = kMemory;
  const std::int32_t w = 10, h = 3;
  KnownLaunch launch{.grid = {2, 1, 1}, .block = {8, 4, 1}};
  for (const void* argument :
       {static_cast<const void*>(&pointer), static_cast<const void*>(&w), static_cast<const void*>(&h)})
    launch.arguments.push_back(reinterpret_cast<std::uint64_t>(argument));
  launch.load = [&](std::uint64_t address, std::size_t size) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    if (address >= kMemory && address < 2 * kMemory) {  // a table of pointers, each to a block of 1000 bytes
      if (size != sizeof value) return std::nullopt;
      return kMemory + (address - kMemory) / 8 * 1000 + 1000;
    }
    std::memcpy(&value, reinterpret_cast<const void*>(address), size);
    return value;
  };
  std::vector<std::string> texts;
  for (const ExactBytes& each : exact_bytes(*kernel, launch))
    if (each.bytes.base < 2 * kMemory) texts.push_back(text_of(each));  // the parameters are memory as well
  std::ranges::sort(texts);
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result.empty() ? "nothing" : result;
}

#define K "__global__ void k(float* a, int w, int h) { "
#define XY "int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y; "

class ExactBytesTest : public testing::TestWithParam<Case> {};

TEST_P(ExactBytesTest, AreAsWritten) { EXPECT_EQ(exact(GetParam().source), GetParam().expected); }

const Case kCases[] = {
    {"AllThreads", K XY "a[x] = 1; }", "w 0:64"},
    {"UpToANumber", K XY "if (x < w) a[x] = 1; }", "w 0:40"},
    {"OthersLeave", K XY "if (x >= w || y >= h) return; a[y * w + x] = 1; }", "w 0:120"},
    {"Inside", K XY "if (x > 0 && x < w - 1 && y < h) a[y * w + x] = 1; }", "w 4:32/40*3"},
    {"Else", K XY "if (x < w) { } else { a[x] = 1; } }", "w 40:24"},
    {"Column", K XY "if (y < h) a[y * w] = 1; }", "w 0:4/40*3"},
    {"Update", K XY "if (x < w) a[x] += 1; }", "w 0:40"},
    {"Read", K XY "__shared__ float s[16]; if (x < w) s[x] = a[x + h]; }", "r 12:40"},
    {"Loop", K "for (int i = 0; i < w; ++i) a[i * h] = 0; }", "w 0:4/12*10"},
    {"Stride", K "for (int i = threadIdx.x; i < 100; i += blockDim.x) a[i] = 0; }", "w 0:400"},
    {"Pointer", K XY "float* row = a + y * w; if (y < h) row[blockIdx.x] = 0; }", "w 0:8/40*3"},
    {"Function", "__device__ void put(float* to, int i) { to[i] = 1; } " K XY "if (x < w) put(a + h, x); }", "w 12:40"},
    {"Returns", "__device__ int at(int x, int y, int w) { return y * w + x; } " K XY "if (x < w) a[at(x, 1, w)] = 1; }",
     "w 40:40"},
    {"Number", K "if (w > 4) a[0] = 1; else a[1] = 1; }", "w 0:4"},
    {"Choice", K "a[w > h ? 2 : 3] = 1; }", "w 8:4"},
    {"Atomic", K XY "if (x < w) atomicAdd(&a[x], 1.f); }", "a 0:40"},
    {"TwoBlocks", K XY "if (threadIdx.x == 0) a[blockIdx.x] = 1; }", "w 0:8"},
    {"TooFarApart", K "if (w == 0x1E3779B97F4A7C15LL) a[0] = 1; else a[1] = 1; }", "nothing"},
    {"ByMinusOne", K "a[-w / -1] = 1; }", "nothing"},
    {"FewerRoundsThanThreads",
     K "for (int i = threadIdx.x; i < 4; i += blockDim.x) { a[i] = 0; a[100 + threadIdx.x] = 1; } }", "w 0:16"},
    {"AsManyRoundsAsThreads",
     K "for (int i = threadIdx.x; i < 8; i += blockDim.x) { a[i] = 0; a[100 + threadIdx.x] = 1; } }",
     "w 0:32, w 400:32"},
    // What is not certain.
    {"ByMemory", K XY "if (a[x] > 0) a[x] = 1; }", "r 0:64"},
    {"IndexOfMemory", K XY "a[static_cast<int>(a[0])] = 1; }", "r 0:4"},
    {"LeavesByMemory", K XY "if (a[0] > 0) return; a[x] = 1; }", "r 0:4"},
    {"LeavesInside", K XY "if (x < 8) { if (a[0] > 0) return; } a[x] = 1; }", "r 0:4, w 32:32"},
    {"BlocksOfThreadsThatLeft", K XY "if (x >= w) return; a[blockIdx.x] = 1; }", "nothing"},
    {"NoThreadIsLeft", K XY "if (x < 4 && threadIdx.x > 5) a[y] = 1; }", "nothing"},
    {"Changed", K XY "x = h; a[x] = 1; }", "nothing"},
    {"While", K "int i = 0; while (i < w) a[i++] = 1; }", "nothing"},
    {"Break", K "for (int i = 0; i < w; ++i) { if (a[0] > 1) break; a[i] = 1; } }", "nothing"},
    {"NoRound", K "for (int i = w; i < h; ++i) a[i] = 1; }", "nothing"},
    {"Volatile", K "volatile float* f = a; f[0] = 1; }", "nothing"},
    {"Modulo", K XY "a[x % w] = 1; }", "nothing"},
};
std::string name_of_exact(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Kernels, ExactBytesTest, testing::ValuesIn(kCases), name_of_exact);

/// Of a parameter that is a struct: its only field is where the test's `a` stands.
const Case kOfStructs[] = {
    {"Kept", "struct S { float* a; }; __global__ void k(S s, int w, int h) { s.a[threadIdx.x] = 1; }", "w 0:32"},
    {"Method",
     "struct S { float* a; __device__ float* at(int i) { return a + i; } }; __global__ void k(S s, int w, int h) { "
     "*s.at(h) = 1; }",
     "w 12:4"},
    {"Operator",
     "struct S { float* a; __device__ float& operator()(int i) { return a[i]; } }; __global__ void k(S s, int w, int "
     "h) { s(h) = 1; }",
     "w 12:4"},
    {"Moved", "struct S { float* a; }; __global__ void k(S s, int w, int h) { s.a += w; s.a[threadIdx.x] = 1; }",
     "nothing"},
    {"MovedByMethod",
     "struct S { float* a; __device__ void skip(int n) { a += n; } }; __global__ void k(S s, int w, int h) { for (int "
     "i = 0; i < 4; ++i) { s.a[threadIdx.x] = 1; s.skip(w); } }",
     "nothing"},
    {"MovedByReference",
     "struct S { float* a; }; __global__ void k(S s, int w, int h) { S& same = s; same.a += w; s.a[threadIdx.x] = 1; }",
     "nothing"},
    {"MovedByFunction",
     "struct S { float* a; }; __device__ void skip(S* s) { s->a += 4; } __global__ void k(S s, int w, int h) { "
     "skip(&s); s.a[threadIdx.x] = 1; }",
     "nothing"},
    {"Assigned",
     "struct S { float* a; }; __global__ void k(S s, int w, int h) { S other{s.a + w}; s = other; s.a[threadIdx.x] = "
     "1; }",
     "nothing"},
};
INSTANTIATE_TEST_SUITE_P(Structs, ExactBytesTest, testing::ValuesIn(kOfStructs), name_of_exact);

TEST(ExactBytesOfTables, AreFollowed) {
  EXPECT_EQ(exact("__global__ void k(float** a, int w, int h) { for (int i = 0; i < h; ++i) a[i][threadIdx.x] = 1; }"),
            "r 0:8, r 16:8, r 8:8, w 1000:32, w 2000:32, w 3000:32");
  EXPECT_EQ(exact("__global__ void k(float** a, int w, int h) { float* mine = a[blockIdx.x]; mine[w] = 1; }"),
            "r 0:16, r 0:8, r 8:8, w 1040:4, w 2040:4");
}

}  // namespace
}  // namespace streamsan::analyzer
