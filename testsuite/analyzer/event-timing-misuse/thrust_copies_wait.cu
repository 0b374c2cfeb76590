// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-timing-misuse,host-read-before-done %s
// RUN: %check event-timing-misuse,host-read-before-done %s -- -DFIXED
//
// A vector of the host that is made from one of the device is copied in the default stream, and the host waits: what was
// recorded before is complete. It says nothing about a non-blocking stream.
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

__global__ void fill(int* p, int n) {
  if (threadIdx.x < n) p[threadIdx.x] = 1;
}

int timed(thrust::device_vector<int>& on_device) {
  cudaStream_t stream = nullptr;
#ifndef FIXED
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#endif
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start, stream);
  fill<<<1, 32, 0, stream>>>(thrust::raw_pointer_cast(on_device.data()), 32);
  cudaEventRecord(stop, stream);
  thrust::host_vector<int> copied = on_device;
  float ms;
#ifndef FIXED
  cudaEventElapsedTime(&ms, start, stop);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaEventElapsedTime of event 'stop', which may not be complete: nothing has waited for it [streamsan-event-timing-misuse]
// CHECK-NOTES: :[[@LINE-6]]:3: note: event 'stop' is recorded here on stream 'stream'
// CHECK-NOTES: :[[@LINE-10]]:3: note: event 'stop' is created here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for event 'stop' with cudaEventSynchronize before
#else
  cudaEventElapsedTime(&ms, start, stop);
#endif
  return copied[0];
}

int assigned(thrust::device_vector<int>& on_device, thrust::host_vector<int>& on_host) {
  fill<<<1, 32>>>(thrust::raw_pointer_cast(on_device.data()), 32);
  on_host = on_device;
  return on_host[0];
}
