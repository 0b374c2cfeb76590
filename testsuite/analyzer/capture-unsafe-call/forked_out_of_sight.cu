// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A stream that may have come into the capture may allocate in it: by an event that other code records, or one that was
// recorded in a stream which may be the captured one.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void record_fork(cudaEvent_t event, cudaStream_t stream);
struct Device {
  cudaStream_t current() const;
  cudaEvent_t forked, joined;
};

void scratch(float* x, cudaStream_t stream) {
  float* temporary;
  cudaMallocAsync(&temporary, 1024, stream);  // FIRES: capture-unsafe-call
  work<<<1, 256, 0, stream>>>(temporary);
  cudaFreeAsync(temporary, stream);
}

void by_helper(cudaEvent_t fork, cudaEvent_t join, float* x) {
  cudaStream_t stream, side;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  record_fork(fork, stream);
  cudaStreamWaitEvent(side, fork, 0);
  float* temporary;
  cudaMallocAsync(&temporary, 1024, side);
  work<<<1, 256, 0, side>>>(temporary);
  cudaFreeAsync(temporary, side);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(stream, join, 0);
  cudaStreamEndCapture(stream, &graph);
}

void in_current(Device& device, float* x) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaGraph_t graph;
  cudaStream_t stream = device.current();
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaEventRecord(device.forked, device.current());
  cudaStreamWaitEvent(side, device.forked, 0);
  float* temporary;
  cudaMallocAsync(&temporary, 1024, side);
  work<<<1, 256, 0, side>>>(temporary);
  cudaFreeAsync(temporary, side);
  cudaEventRecord(device.joined, side);
  cudaStreamWaitEvent(stream, device.joined, 0);
  cudaStreamEndCapture(stream, &graph);
}

// The event was recorded before the capture: the stream that waits for it stays outside.
void of_before(float* x) {
  cudaStream_t stream, side;
  cudaEvent_t filled;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  work<<<1, 256, 0, stream>>>(x);
  cudaEventRecord(filled, stream);
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaStreamWaitEvent(side, filled, 0);
#ifndef FIXED
  scratch(x, side);
#endif
  work<<<1, 256, 0, stream>>>(x);
  cudaStreamEndCapture(stream, &graph);
}
