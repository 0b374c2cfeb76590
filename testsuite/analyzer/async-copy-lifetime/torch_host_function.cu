// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// Not every function of the namespaces of ATen is an operation on the current stream: one that has nothing to do with tensors
// is the host's.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_runtime.h>

#include <string>
#include <vector>

namespace torch {
struct Traceback;
std::vector<std::string> symbolize(const std::vector<Traceback*>& which);
}  // namespace torch

// silent: the host reads the temporary, and is done when it returns
std::size_t lines(torch::Traceback* of) { return torch::symbolize({of}).size(); }

void upload(float* device, float value) {
  float host = value;
  cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, at::cuda::getCurrentCUDAStream());
#ifdef FIXED
  cudaStreamSynchronize(at::cuda::getCurrentCUDAStream());
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'host' goes out of scope while cudaMemcpyAsync (host to device) on the current stream still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'host' is read here, on the current stream
// CHECK-NOTES: :[[@LINE-3]]:1: note: wait for the current stream with cudaStreamSynchronize before that, or keep the memory alive for longer
