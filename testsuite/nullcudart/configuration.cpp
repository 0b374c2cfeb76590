// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands between <<< and >>>: pushed by the caller, popped by the stub of the kernel, in the same thread.

#include "testsuite/nullcudart/runtime.h"

#include <vector>

namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  void* stream;
};

thread_local std::vector<Configuration> configurations;

}  // namespace

NC_EXPORT_AS(unsigned)
__cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

NC_EXPORT __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<void**>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}
