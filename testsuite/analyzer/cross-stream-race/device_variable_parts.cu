// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Which part of a variable on the device a kernel uses: members, rows, halves. Two that use the same part race.
#include <cuda_runtime.h>

__device__ float halves[512], by_argument[512], rows[4][256];
__device__ struct {
  float a[256], b[256];
} both;
__constant__ float tables[2][256];

__global__ void lower() { halves[threadIdx.x] += 1.0f; }
__global__ void upper() { halves[256 + threadIdx.x] += 1.0f; }
__global__ void from(int first) { by_argument[first + threadIdx.x] += 1.0f; }
__global__ void of_a() { both.a[threadIdx.x] += 1.0f; }
__global__ void of_b() { both.b[threadIdx.x] += 1.0f; }
__global__ void row(int r) { rows[r][threadIdx.x] += 1.0f; }
__global__ void use(float* y, int which) { y[threadIdx.x] += tables[which][threadIdx.x]; }

struct Streams {
  Streams() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  }
  cudaStream_t a, b;
};

void same_half() {
  Streams s;
  lower<<<1, 256, 0, s.a>>>();
#ifdef FIXED
  cudaStreamSynchronize(s.a);
#endif
  lower<<<1, 256, 0, s.b>>>();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'lower' on stream 's.b' may update 'halves' while kernel 'lower' on stream 's.a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'halves' is updated here, on stream 's.a'
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 's.a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 's.b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 's.b' after stream 's.a': record an event in stream 's.a' after the update and let stream 's.b' wait for it with cudaStreamWaitEvent before kernel 'lower'
  cudaDeviceSynchronize();
}

void same_member() {
  Streams s;
  of_b<<<1, 256, 0, s.a>>>();
#ifdef FIXED
  cudaStreamSynchronize(s.a);
#endif
  of_b<<<1, 256, 0, s.b>>>();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'of_b' on stream 's.b' may update 'both' while kernel 'of_b' on stream 's.a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'both' is updated here, on stream 's.a'
// CHECK-NOTES: :[[@LINE-31]]:5: note: stream 's.a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-32]]:5: note: stream 's.b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 's.b' after stream 's.a': record an event in stream 's.a' after the update and let stream 's.b' wait for it with cudaStreamWaitEvent before kernel 'of_b'
  cudaDeviceSynchronize();
}

void same_row(int r) {
  Streams s;
  row<<<1, 256, 0, s.a>>>(r);
#ifdef FIXED
  cudaStreamSynchronize(s.a);
#endif
  row<<<1, 256, 0, s.b>>>(r);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'row' on stream 's.b' may update 'rows' while kernel 'row' on stream 's.a' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'rows' is updated here, on stream 's.a'
// CHECK-NOTES: :[[@LINE-47]]:5: note: stream 's.a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-48]]:5: note: stream 's.b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 's.b' after stream 's.a': record an event in stream 's.a' after the update and let stream 's.b' wait for it with cudaStreamWaitEvent before kernel 'row'
  cudaDeviceSynchronize();
}

void apart(float* y, const float* pinned) {
  Streams s;
  lower<<<1, 256, 0, s.a>>>();
  upper<<<1, 256, 0, s.b>>>();
  from<<<1, 256, 0, s.a>>>(0);
  from<<<1, 256, 0, s.b>>>(256);
  of_a<<<1, 256, 0, s.a>>>();
  of_b<<<1, 256, 0, s.b>>>();
  row<<<1, 256, 0, s.a>>>(0);
  row<<<1, 256, 0, s.b>>>(1);
  use<<<1, 256, 0, s.a>>>(y, 0);
  cudaMemcpyToSymbolAsync(tables, pinned, 1024, 1024, cudaMemcpyHostToDevice, s.b);
  cudaDeviceSynchronize();
}

void parities(float* y, const float* pinned, int n) {
  Streams s;
  for (int f = 0; f < n; ++f) {
    use<<<1, 256, 0, s.a>>>(y, f & 1);
    cudaMemcpyToSymbolAsync(tables, pinned + (f + 1) * 256, 1024, ((f + 1) & 1) * 1024, cudaMemcpyHostToDevice, s.b);
    cudaDeviceSynchronize();
  }
}
