// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Launches by one lambda or helper, of one kernel with one buffer and the same numbers. Launches that begin at other
// numbers may have a part each.
#include <cuda_runtime.h>

__global__ void scale(float* out, int n, float by) {
  if (threadIdx.x < n) out[threadIdx.x] *= by;
}

__global__ void scale_from(float* out, int first, float by) {
  out[first + threadIdx.x] *= by;
}

struct Streams {
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  }
  cudaStream_t a, b;
};

void captured(float* data, int n, float by) {
  Streams streams;
  auto launch = [&](cudaStream_t s) { scale<<<1, 256, 0, s>>>(data, n, by); };
// CHECK-MESSAGES: :[[@LINE-1]]:39: warning: kernel 'scale' on stream 'streams.b' may update 'data' while kernel 'scale' on stream 'streams.a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+11]]:3: note: in the call to 'lambda' here
// CHECK-NOTES: :[[@LINE-3]]:39: note: 'data' is updated here, on stream 'streams.a'
// CHECK-NOTES: :[[@LINE+5]]:3: note: in the call to 'lambda' here
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'streams.a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-14]]:5: note: stream 'streams.b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:39: note: nothing orders stream 'streams.b' after stream 'streams.a': record an event in stream 'streams.a' after the update and let stream 'streams.b' wait for it with cudaStreamWaitEvent before kernel 'scale'
  launch(streams.a);
#ifdef FIXED
  cudaStreamSynchronize(streams.a);
#endif
  launch(streams.b);
}

static void launch_on(cudaStream_t s, float* data, int count, float by) {
  scale<<<1, 256, 0, s>>>(data, count, by);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scale' on stream 'streams.b' may update 'data' while kernel 'scale' on stream 'streams.a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'launch_on' here
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is updated here, on stream 'streams.a'
// CHECK-NOTES: :[[@LINE+9]]:3: note: in the call to 'launch_on' here
// CHECK-NOTES: :[[@LINE-30]]:5: note: stream 'streams.a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+6]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-31]]:5: note: stream 'streams.b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:3: note: nothing orders stream 'streams.b' after stream 'streams.a': record an event in stream 'streams.a' after the update and let stream 'streams.b' wait for it with cudaStreamWaitEvent before kernel 'scale'
}

void passed(float* data, int n, float by) {
  Streams streams;
  launch_on(streams.a, data, n, by);
#ifdef FIXED
  cudaStreamSynchronize(streams.a);
#endif
  launch_on(streams.b, data, n, by);
}

void parts(float* data, int n, float by) {
  Streams streams;
  auto launch = [&](cudaStream_t s, int part) { scale_from<<<1, 256, 0, s>>>(data, part * n, by); };
  launch(streams.a, n);
  launch(streams.b, n / 2);
}

void number_that_is_not_followed(float* data, int n, float by) {
  Streams streams;
  auto launch = [&](cudaStream_t s, double share) { scale_from<<<1, 256, 0, s>>>(data, n * (int)share, by); };
  launch(streams.a, 1.0);
  launch(streams.b, 2.0);
}

void counted(float* data, int n, float by) {
  Streams streams;
  int part = n;
  auto launch = [&](cudaStream_t s) { scale_from<<<1, 256, 0, s>>>(data, part, by); };
  launch(streams.a);
  ++part;
  launch(streams.b);
}
