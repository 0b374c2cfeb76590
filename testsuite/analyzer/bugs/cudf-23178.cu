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
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'values' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'values' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-8]]:23: note: 'values' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
}
