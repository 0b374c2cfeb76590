// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// NVIDIA/DALI#4428, WS: a test clears the device buffer with cudaMemset, its copies are on its own stream.
#include <cuda_runtime.h>

#include <vector>

void host_to_device_and_back(int* pinned, size_t bytes) {
  cudaStream_t stream;
  int* device = nullptr;
  cudaMalloc(&device, bytes);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemsetAsync(device, 0, bytes, stream);
#else
  cudaMemset(device, 0, bytes);
#endif
  cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on non-blocking stream 'stream' may write 'device' while cudaMemset on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'device' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: cudaMemset returns when its work may still be running (R-CPY-50)
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: 'device' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'stream' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
  cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(device);
}
