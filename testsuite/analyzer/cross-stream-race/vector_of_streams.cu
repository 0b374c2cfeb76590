// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A std::vector of streams: upload on a copy stream, compute on the slot's own stream, the same slot.
#include <cuda_runtime.h>

#include <vector>

__global__ void process(float* data) { data[threadIdx.x] *= 2.0f; }

void batches(std::vector<float*>& device, const std::vector<float*>& host, size_t bytes) {
  std::vector<cudaStream_t> streams(device.size());
  std::vector<cudaEvent_t> uploaded(device.size());
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  for (auto& e : uploaded) cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
  cudaStream_t copy;
  cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
  for (size_t i = 0; i < device.size(); ++i) {
    cudaMemcpyAsync(device[i], host[i], bytes, cudaMemcpyHostToDevice, copy);
#ifdef FIXED
    cudaEventRecord(uploaded[i], copy);
    cudaStreamWaitEvent(streams[i], uploaded[i], 0);
#endif
    process<<<1, 256, 0, streams[i]>>>(device[i]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'process' on stream 'streams[i]' may update 'device[i]' while cudaMemcpyAsync (host to device) on stream 'copy' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:5: note: 'device[i]' is written here, on stream 'copy'
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'copy' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:27: note: stream 'streams[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'streams[i]' after stream 'copy': record an event in stream 'copy' after the write and let stream 'streams[i]' wait for it with cudaStreamWaitEvent before kernel 'process'
  }
  for (auto& s : streams) cudaStreamSynchronize(s);
}
