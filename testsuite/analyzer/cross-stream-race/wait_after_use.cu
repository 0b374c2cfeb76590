// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The wait is there, one line too late.
#include <cuda_runtime.h>

__global__ void pack(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void send(const float* in, float* link) { link[threadIdx.x] = in[threadIdx.x]; }

void exchange(const float* field, float* halo, float* link) {
  cudaStream_t compute, network;
  cudaEvent_t packed;
  cudaStreamCreate(&compute);
  cudaStreamCreate(&network);
  cudaEventCreateWithFlags(&packed, cudaEventDisableTiming);
  pack<<<4, 128, 0, compute>>>(field, halo);
  cudaEventRecord(packed, compute);
#ifdef FIXED
  cudaStreamWaitEvent(network, packed);
  send<<<4, 128, 0, network>>>(halo, link);
#else
  send<<<4, 128, 0, network>>>(halo, link);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'send' on stream 'network' may read 'halo' while kernel 'pack' on stream 'compute' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'halo' is written here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'packed' is recorded here, after the write, but stream 'network' does not wait for it
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'compute' is created here
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'network' is created here
// CHECK-NOTES: :[[@LINE-6]]:3: note: let stream 'network' wait for event 'packed' with cudaStreamWaitEvent before kernel 'send'
  cudaStreamWaitEvent(network, packed);
#endif
  cudaStreamSynchronize(network);
  cudaStreamSynchronize(compute);
}
