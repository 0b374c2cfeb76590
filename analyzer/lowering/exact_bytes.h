// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which bytes one launch of a kernel touches for certain, where its arguments, grid and block are known.
//
//   __global__ void develop(float* strip, int width, int rows) {
//     const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
//     if (x < width && y < rows) strip[y * width + x] = 1;          all of rows * width elements from `strip` on
//   }
//
// The body is read with those values: indices are numbers that are linear in the indices of threads and the rounds of
// loops, conditions narrow their ranges (linear.h). Device functions are read with what they are given; a pointer that
// stands in memory is followed where its value is known, as in a table of pointers that the host has copied.
//
// Which way it errs. Code that is not understood is left out, and so are the accesses it decides about: they are
// missed, and none is invented. A body under `#if __CUDA_ARCH__` is seen as the host sees it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/ir/ir.h"
#include "ordering/types.h"

namespace clang {
class FunctionDecl;
}

namespace streamsan::analyzer {

struct KnownLaunch {
  std::array<std::uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::vector<std::uint64_t> arguments;  ///< where the bytes of each are
  /// So many bytes at an address, of arguments, or of a table of pointers; nullopt: it is not known what they are.
  std::function<std::optional<std::uint64_t>(std::uint64_t address, std::size_t size)> load;
};

struct ExactBytes {
  ordering::Footprint bytes;
  ir::Mode mode = ir::Mode::Read;  ///< Read, Write or Atomic
};

std::vector<ExactBytes> exact_bytes(const clang::FunctionDecl& kernel, const KnownLaunch& launch);

}  // namespace streamsan::analyzer
