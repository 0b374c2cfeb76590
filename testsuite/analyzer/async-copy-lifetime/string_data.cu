// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The characters of a std::string that is assigned anew.
#include <cuda_runtime.h>

#include <string>

void upload(char* device, cudaStream_t stream) {
  std::string text(100, 'a');
  cudaMemcpyAsync(device, text.data(), text.size(), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  text.append(1000, 'b');
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'text' may get another block by append() while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'text' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:15: note: 'text' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
  cudaStreamSynchronize(stream);
}
