// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A kernel that is given numbers, and whose body does not show where it begins, may work on any part of the buffer. One
// that is given none which chooses a part begins at its pointer.
#include <cuda_runtime.h>

struct Range {
  float* a;
  int first;
};
struct View {
  float* a;
  int n;
  __device__ float& at(int i) const { return a[i]; }
};
struct Pair {
  short x, y;
};

__global__ void by_block(float* a, int block) {
  int i = (block + blockIdx.x) * blockDim.x + threadIdx.x;
  a[i] *= 2;
}
__global__ void by_member(Range p) {
  int i = p.first + blockIdx.x * blockDim.x + threadIdx.x;
  p.a[i] *= 2;
}
__global__ void moved_pointer(float* a, int first) {
  a += first;
  a[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}
__global__ void counted_on(float* a, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  i += first;
  a[i] *= 2;
}
__global__ void in_fours(float* a, int first) {
  reinterpret_cast<float4*>(a)[first / 4 + blockIdx.x * blockDim.x + threadIdx.x].x *= 2;
}
__global__ void by_range(float* a, int2 r) {
  for (int i = r.x + blockIdx.x * blockDim.x + threadIdx.x; i < r.y; i += gridDim.x * blockDim.x) a[i] *= 2;
}
__global__ void by_view(View v, int b) {
  int i = b + blockIdx.x * blockDim.x + threadIdx.x;
  v.at(i) *= 2;
}
__global__ void pair_of(Pair* out, int n, int most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Pair p = {0, 0};
  p.x = (short)(i % most);
  out[i] = p;
}
__global__ void stepped_pointer(float* a, float by) {
  a += blockIdx.x * blockDim.x;
  a += threadIdx.x;
  *a *= by;
}

struct Halves {
  Halves(float* h, int n) {
    cudaMalloc(&d, 2 * n * sizeof(float));
    cudaStreamCreate(&s0);
    cudaStreamCreate(&s1);
    cudaMemcpyAsync(d, h, n * sizeof(float), cudaMemcpyHostToDevice, s0);
    cudaMemcpyAsync(d + n, h + n, n * sizeof(float), cudaMemcpyHostToDevice, s1);
  }
  float* d;
  cudaStream_t s0, s1;
};

void second_halves(float* h, int n) {
  Halves a(h, n), b(h, n), c(h, n), d(h, n), e(h, n), f(h, n), g(h, n);
  by_block<<<n / 256, 256, 0, a.s1>>>(a.d, n / 256);
  by_member<<<n / 256, 256, 0, b.s1>>>(Range{b.d, n});
  moved_pointer<<<n / 256, 256, 0, c.s1>>>(c.d, n);
  counted_on<<<n / 256, 256, 0, d.s1>>>(d.d, n);
  in_fours<<<n / 1024, 256, 0, e.s1>>>(e.d, n);
  by_range<<<32, 256, 0, f.s1>>>(f.d, make_int2(n, 2 * n));
  by_view<<<n / 256, 256, 0, g.s1>>>(View{g.d, 2 * n}, n);
  cudaDeviceSynchronize();
}

void pairs(Pair* h, Pair* d, int n) {
  cudaStream_t s0, s1;
  cudaStreamCreate(&s0);
  cudaStreamCreate(&s1);
  cudaMemcpyAsync(d, h, n * sizeof(Pair), cudaMemcpyHostToDevice, s0);
#ifdef FIXED
  cudaStreamSynchronize(s0);
#endif
  pair_of<<<n / 256, 256, 0, s1>>>(d, n, 16);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'pair_of' on stream 's1' may write 'd' while cudaMemcpyAsync (host to device) on stream 's0' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'd' is written here, on stream 's0'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 's0' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 's1' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 's1' after stream 's0': record an event in stream 's0' after the write and let stream 's1' wait for it with cudaStreamWaitEvent before kernel 'pair_of'
  cudaDeviceSynchronize();
}

void steps(float* h, float* d, int n) {
  cudaStream_t s0, s1;
  cudaStreamCreate(&s0);
  cudaStreamCreate(&s1);
  cudaMemcpyAsync(d, h, n * sizeof(float), cudaMemcpyHostToDevice, s0);
#ifdef FIXED
  cudaStreamSynchronize(s0);
#endif
  stepped_pointer<<<n / 256, 256, 0, s1>>>(d, 2);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'stepped_pointer' on stream 's1' may update 'd' while cudaMemcpyAsync (host to device) on stream 's0' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'd' is written here, on stream 's0'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 's0' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 's1' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 's1' after stream 's0': record an event in stream 's0' after the write and let stream 's1' wait for it with cudaStreamWaitEvent before kernel 'stepped_pointer'
  cudaDeviceSynchronize();
}
