// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// An event that is recorded by a node of the graph, or beside the capture, takes no stream into it.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void record(float* x, float* y, cudaStream_t upload, cudaEvent_t reached, cudaGraph_t* graph) {
  cudaStream_t s, beside;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  work<<<1, 256, 0, s>>>(x);
#ifdef FIXED
  cudaEventRecordWithFlags(reached, s, cudaEventRecordExternal);
#else
  cudaEventRecordWithFlags(reached, s, cudaEventRecordDefault);
#endif
  cudaStreamWaitEvent(beside, reached);
  work<<<1, 256, 0, beside>>>(y);
  cudaStreamEndCapture(s, graph);
#ifndef FIXED
// CHECK-MESSAGES: :[[@LINE-2]]:3: warning: the capture of stream 's' ends while work on stream 'beside' is part of it that stream 's' has not waited for [streamsan-capture-unsafe-call]
// CHECK-NOTES: :[[@LINE-4]]:3: note: this work is not joined
// CHECK-NOTES: :[[@LINE-13]]:3: note: the capture begins here
// CHECK-NOTES: :[[@LINE-5]]:3: note: record an event in stream 'beside' after its last work, and let stream 's' wait for it before the end
#endif
}

void others(float* x, cudaStream_t s, cudaStream_t upload, cudaStream_t table, cudaEvent_t uploaded, cudaGraph_t* graph) {
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  work<<<1, 256, 0, s>>>(x);
  cudaEventRecord(uploaded, upload);
  cudaStreamWaitEvent(table, uploaded);
  cudaStreamSynchronize(table);
  cudaStreamEndCapture(s, graph);
}
