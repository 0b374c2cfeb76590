// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A launch of a captured graph does what was captured: it reads the input, which another stream is still filling.
#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void infer(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * 2.0f; }

static void check(cudaError_t error) {
  if (error != cudaSuccess) exit(1);
}

class Session {
 public:
  explicit Session(int n) : bytes_(n * sizeof(float)) {
    check(cudaMalloc(&in_, bytes_));
    check(cudaMalloc(&out_, bytes_));
    check(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    check(cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    capture();
  }
  Session(const Session&) = delete;

  void run(const float* pinned) {
    check(cudaMemcpyAsync(in_, pinned, bytes_, cudaMemcpyHostToDevice, io_));
    check(cudaEventRecord(filled_, io_));
#ifdef FIXED
    check(cudaStreamWaitEvent(compute_, filled_, 0));
#endif
    check(cudaGraphLaunch(exec_, compute_));
// CHECK-MESSAGES: :[[@LINE-1]]:11: warning: cudaGraphLaunch on stream 'session.compute_' may read 'session.in_' while cudaMemcpyAsync (host to device) on stream 'session.io_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:11: note: 'session.in_' is written here, on stream 'session.io_'
// CHECK-NOTES: :[[@LINE-7]]:11: note: event 'session.filled_' is recorded here, after the write, but stream 'session.compute_' does not wait for it
// CHECK-NOTES: :[[@LINE-16]]:11: note: stream 'session.io_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+28]]:11: note: in the call to 'Session::Session' here
// CHECK-NOTES: :[[@LINE-19]]:11: note: stream 'session.compute_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-22]]:11: note: 'session.in_' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:11: note: let stream 'session.compute_' wait for event 'session.filled_' with cudaStreamWaitEvent before cudaGraphLaunch
// CHECK-NOTES: :[[@LINE+25]]:3: note: in the call to 'Session::run' here
#ifndef FIXED
#endif
    check(cudaStreamSynchronize(compute_));
  }

 private:
  void capture() {
    cudaGraph_t graph;
    check(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal));
    infer<<<1, 256, 0, compute_>>>(in_, out_);
    check(cudaStreamEndCapture(compute_, &graph));
    check(cudaGraphInstantiate(&exec_, graph, 0));
    check(cudaGraphDestroy(graph));
  }

  size_t bytes_;
  float *in_, *out_;
  cudaStream_t compute_, io_;
  cudaEvent_t filled_;
  cudaGraphExec_t exec_;
};

void serve(const float* pinned, int n) {
  Session session(n);
  session.run(pinned);
}
