// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A plain struct of a header is filled by whoever includes it, here or elsewhere: its streams may be one. The streams of
// a struct that creates them itself, or that no other file sees, are two.
#include "open_members.h"

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

struct Inner {
  cudaStream_t compute;
  cudaStream_t transfer;
};

#ifdef FIXED
using Streams = Open;
#else
using Streams = Inner;

void step(Owner& owner, float* data, float* out) {
  scale<<<1, 256, 0, owner.compute>>>(data);
  gather<<<1, 256, 0, owner.transfer>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'gather' on stream 'owner.transfer' may read 'data' while kernel 'scale' on stream 'owner.compute' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is updated here, on stream 'owner.compute'
// CHECK-NOTES: open_members.h:15:5: note: stream 'owner.compute' is created here (non-blocking)
// CHECK-NOTES: open_members.h:16:5: note: stream 'owner.transfer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'owner.transfer' after stream 'owner.compute': record an event in stream 'owner.compute' after the update and let stream 'owner.transfer' wait for it with cudaStreamWaitEvent before kernel 'gather'
}
#endif

void open(Streams* streams) {
  cudaStreamCreateWithFlags(&streams->compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&streams->transfer, cudaStreamNonBlocking);
}

void step(Streams* streams, float* data, float* out) {
  scale<<<1, 256, 0, streams->compute>>>(data);
  gather<<<1, 256, 0, streams->transfer>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'gather' on stream 'streams->transfer' may read 'data' while kernel 'scale' on stream 'streams->compute' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is updated here, on stream 'streams->compute'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'streams->compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'streams->transfer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'streams->transfer' after stream 'streams->compute': record an event in stream 'streams->compute' after the update and let stream 'streams->transfer' wait for it with cudaStreamWaitEvent before kernel 'gather'
}
