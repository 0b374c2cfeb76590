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
  for (int i = 0; i < rows; ++i) sum += buffer[i];
// CHECK-MESSAGES: :[[@LINE-1]]:41: warning: the host may read 'buffer' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-12]]:3: note: 'buffer' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-5]]:29: note: in the call to 'to_arrow' here
// CHECK-NOTES: :[[@LINE-15]]:20: note: 'buffer' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:41: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  return sum;
}
