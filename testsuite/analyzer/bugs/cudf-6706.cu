// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// NVIDIA/cudf#6706, HR: the conversion fills host buffers asynchronously and returns them to code without streams.
#include <cuda_runtime.h>

#include <vector>

static std::vector<int> to_arrow(const int* column, int rows, cudaStream_t stream) {
  std::vector<int> buffer(rows);
  cudaMemcpyAsync(buffer.data(), column, rows * sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  return buffer;
}

long sum_of_column(const int* column, int rows, cudaStream_t stream) {
  std::vector<int> buffer = to_arrow(column, rows, stream);
  long sum = 0;
  for (int i = 0; i < rows; ++i) sum += buffer[i];  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  return sum;
}
