// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// NVIDIA/cudf#23178, HL: the string branch waits before its host column dies, the branch of fixed width does not.
#include <cuda_runtime.h>

#include <vector>

struct Statistics {
  bool is_string;
  int rows;
};

void to_device(const Statistics& statistics, char* d_chars, long* d_values, cudaStream_t stream) {
  if (statistics.is_string) {
    std::vector<char> chars(statistics.rows * 16);
    cudaMemcpyAsync(d_chars, chars.data(), chars.size(), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
  } else {
    std::vector<long> values(statistics.rows);
    cudaMemcpyAsync(d_values, values.data(), values.size() * sizeof(long), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }  // FIRES: async-copy-lifetime
}
