// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What evaluate_test.cpp and facts_test.cpp read, compiled to PTX for several architectures. Each kernel's parameters are
// filled by the tests in a fixed manner: a pointer gets a region of its own, numbers come from the test's table.
#include <cstdio>

struct View {
  float* data;
  int pitch;
  int width, height;
};

#define KERNEL extern "C" __global__ void

// ---- proved ----------------------------------------------------------------------------------------------------------
KERNEL vector_add(const float* __restrict__ a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
KERNEL saxpy_long(float* y, const float* x, float a, long n) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) y[i] += a * x[i];
}
KERNEL saxpy_int(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
KERNEL second_half(float* y, const float* x, int n) {
  int i = n / 2 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += x[i];
}
KERNEL copy_2d(View to, View from) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < to.width && y < to.height) to.data[y * to.pitch + x] = from.data[y * from.pitch + x];
}
KERNEL stencil(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1)
    out[y * w + x] = in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x];
}
// Loops of which only the result is seen.
KERNEL decompress(float* grad, int n, int seq, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(seq + 1);
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  grad[i] = v;
}
template <typename F>
__device__ void parallel_for(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
struct Work {
  float* out;
  int work;
  __device__ void operator()(int i) const {
    float v = i;
    int k = 0;
    while (k < work) {
      v = fmaf(v, 0.5f, float(k));
      k += 3;
    }
    out[i] = v;
  }
};
KERNEL functor(int n, Work work) { parallel_for(n, work); }
KERNEL nested(float* out, int n, int outer, int inner) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = i;
  for (int k = 0; k < outer; ++k) {
    for (int j = 0; j < inner; ++j) v = fmaf(v, 0.9999f, 1e-4f);
    v = v * v;
  }
  out[i] = v;
}
KERNEL generator(unsigned* out, unsigned seed, unsigned n, unsigned long long work) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned v = seed;
    for (unsigned long long k = 0; k < work; ++k) v = v * 1664525u + 1013904223u;
    out[i] = v;
  }
}
KERNEL choosing(float* out, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = i;
#pragma unroll 1
  for (int k = work; k >= 1; k -= 2) {
    if (v > 3)
      v = __fdividef(v, float(k));
    else
      v = v * v + 1;
  }
  out[i] = v;
}
KERNEL rest_of_row(float* out, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = i;
#pragma unroll 1
  for (int k = i; k < work; ++k) v = v * v + 1;
  out[i] = v;
}
// Addresses that a loop makes.
KERNEL row_by_row(float* out, int n, int width, int pitch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = 0;
  if (i >= n) return;
#pragma unroll 1
  while (i >= width) {
    i -= width;
    ++row;
  }
  out[row * pitch + i] = 1;
}
KERNEL clamped(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[max(i - 2, 0)] + in[min(i + 2, n - 1)];
}
KERNEL fill_vec(float4* p, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i] = make_float4(0, 0, 0, 0);
}
KERNEL rows_inner(float* p, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < m; ++j) p[i * m + j] = 1;
}
KERNEL rows_outer(float* p, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int j = 0; j < m; ++j) p[j * n + i] = 1;
}
KERNEL strided(float* p, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[(long)i * (m + 2)] = 1;
}
KERNEL backwards(float* p, const float* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[n - 1 - i] = q[i];
}
KERNEL matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[8][8], bs[8][8];
  int r = blockIdx.y * 8 + threadIdx.y % 8, col = blockIdx.x * 8 + threadIdx.x % 8;
  float s = 0;
  for (int k = 0; k < n; k += 8) {
    as[threadIdx.y % 8][threadIdx.x % 8] = a[r * n + k + threadIdx.x % 8];
    bs[threadIdx.y % 8][threadIdx.x % 8] = b[(k + threadIdx.y % 8) * n + col];
    __syncthreads();
    for (int j = 0; j < 8; ++j) s += as[threadIdx.y % 8][j] * bs[j][threadIdx.x % 8];
    __syncthreads();
  }
  c[r * n + col] = s;
}
KERNEL reduce_sum(const float* in, float* out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, s[0]);
}
KERNEL warps(float* out, int n) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
  if (warp < n && lane == 0) out[warp] = 1;
}
KERNEL divided(float* out, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int y = i / w, x = i % w;
  out[y * (w + 3) + x] = 1;
}
KERNEL thirds(float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i / 3] = 1;
}
KERNEL cube(float* out, int n, int m) {
  unsigned x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y, z = blockIdx.z;
  if (x < n && y < m) out[(z * (m + 1) + y) * (n + 1) + x] = 1;
}
KERNEL triangle(float* out, int n) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x + y < n) out[y * n + x] = 1;
}
KERNEL wraps(unsigned char* out, unsigned n) {
  unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 0x10000001u;
  out[i & 0xffff] = n;
}
KERNEL narrow(char* out, int n) {
  unsigned char i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1;
}
KERNEL optional(float* out, const float* bias, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 1;
  if (bias) v += bias[i];
  out[i] = v;
}
KERNEL after_choice(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  if (v > 0) {
    for (int k = 0; k < 100 && v > 1; ++k) v *= in[i] * 0.5f;
  }
  out[i] = v;
}
KERNEL prints(float* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = 1;
  if (i == n) printf("%d\n", i);
}
KERNEL by_architecture(float* out) {
#if __CUDA_ARCH__ >= 900
  out[threadIdx.x + 100] = 1;
#else
  out[threadIdx.x] = 1;
#endif
}

// ---- not proved, or in part ------------------------------------------------------------------------------------------
KERNEL gather(float* out, const int* index, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}
KERNEL scatter(float* out, const int* index, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}
KERNEL histogram(const unsigned char* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[in[i]], 1);
}
KERNEL conditional(const float* in, float* out, float* other, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] > 0) out[i] = 1;
  other[i] = 2;
}
KERNEL until_zero(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = i;
  while (in[k] > 3) {
    if (in[k] == 50) break;
    k = k + 1;
  }
  out[i] = k;
}
// The same labels in two blocks of inline assembly, each between braces of its own.
KERNEL labels(int* out, int n) {
  int j = 0;
  if (n > 10) {
    asm volatile("{\n .reg .pred P;\n setp.gt.s32 P, %0, 20;\n @P bra DONE;\n DONE:\n }" ::"r"(n));
    out[100] = 2;
    j = 500;
  }
  asm volatile("{\n .reg .pred P;\n setp.gt.s32 P, %0, 20;\n @P bra DONE;\n DONE:\n }" ::"r"(n));
  out[j + threadIdx.x] = 1;
}
KERNEL leaves(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || in[i] > 40) return;
  out[i] = 1;
}
KERNEL product(float* out, int n) {
  int i = threadIdx.x * blockIdx.x;
  if (i < n) out[i] = 1;
}
KERNEL chase(float** table, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[i][0] = 1;
}
__device__ float* kept;
KERNEL keeps(float* p, const float* q, float* r) {
  kept = p;
  r[threadIdx.x] = q[threadIdx.x];
}
KERNEL swaps(float* p, float* q, int n) {
  float* to = n > 3 ? p : q;
  to[threadIdx.x] = 1;
}
__device__ __noinline__ void outside(float* p, int i) { p[i] = 1; }
KERNEL calls(float* p, const float* q, float* r, int n) {
  r[threadIdx.x] = q[threadIdx.x];
  outside(p, n);
  r[threadIdx.x + 100] = 1;
}
__device__ int total;
KERNEL variable(const int* in, int n) {
  if (threadIdx.x < n) total = in[threadIdx.x];
}
KERNEL waits(volatile int* flag, const float* in, float* out, int n) {
  while (*flag == 0) {
  }
  out[threadIdx.x] = in[threadIdx.x];
}
