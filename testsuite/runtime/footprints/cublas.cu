// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a matrix product reads and writes is known by the documents of cuBLAS, whatever its kernel is given. The library is one
// of our own here, whose kernel is given no pointer that could be seen. On the right each reads what a copy still writes, or writes
// what a copy still reads; with an alpha of zero it reads nothing, and a product of nothing does nothing.
//
// RUN: %build -DLIBRARY -shared -Xcompiler -fPIC %s -o %t.so
// RUN: %build -DCALL=ex %s %t.so -o %t.ex
// RUN: %racy %t.ex 2>&1 | %report --check-prefixes=CHECK,EX
// RUN: %build -DCALL=ex -DFIXED %s %t.so -o %t.ex-fixed
// RUN: %silent %t.ex-fixed
// RUN: %build -DCALL=typed %s %t.so -o %t.typed
// RUN: %racy %t.typed 2>&1 | %report --check-prefixes=CHECK,EX
// RUN: %build -DCALL=batch %s %t.so -o %t.batch
// RUN: %racy %t.batch 2>&1 | %report --check-prefixes=CHECK,BATCH
// RUN: %build -DCALL=light %s %t.so -o %t.light
// RUN: %racy %t.light 2>&1 | %report --check-prefixes=CHECK,EX
// RUN: %build -DCALL=light -DFIXED %s %t.so -o %t.light-fixed
// RUN: %silent %t.light-fixed
// RUN: %build -DCALL=ex -DCAPTURED %s %t.so -o %t.captured
// RUN: %racy %t.captured 2>&1 | %report --check-prefix=CAPTURED
// RUN: %build -DCALL=ex -DCAPTURED -DFIXED %s %t.so -o %t.captured-fixed
// RUN: %silent %t.captured-fixed
// Columns with room between them: what another stream does there is no race, and what it does in them is one.
// RUN: %build -DCALL=padded %s %t.so -o %t.padded
// RUN: %racy %t.padded 2>&1 | %report --check-prefix=PADDED
// RUN: %build -DCALL=padded -DBETWEEN %s %t.so -o %t.between
// RUN: %silent %t.between
// By rows, transposed, with sizes of 64 bits.
// RUN: %build -DCALL=by_rows %s %t.so -o %t.rows
// RUN: %racy %t.rows 2>&1 | %report --check-prefixes=CHECK,EX
// RUN: %build -DCALL=long_sizes %s %t.so -o %t.long
// RUN: %racy %t.long 2>&1 | %report --check-prefixes=CHECK,EX
// RUN: %build -DCALL=long_sizes -DFIXED %s %t.so -o %t.long-fixed
// RUN: %silent %t.long-fixed
// The C of cublasLtMatmul() is another matrix than D, and read if beta is not zero.
// RUN: %build -DCALL=third -DBETA=1 %s %t.so -o %t.third
// RUN: %racy %t.third 2>&1 | %report --check-prefix=THIRD
// RUN: %build -DCALL=third %s %t.so -o %t.third-unread
// RUN: %silent %t.third-unread
// Scalars in memory of the device are not looked at.
// RUN: %build -DCALL=ex -DON_DEVICE %s %t.so -o %t.device
// RUN: %racy %t.device 2>&1 | %report --check-prefixes=CHECK,EX
// A call that fails launches nothing, and promises nothing of the next launch.
// RUN: %build -DLIBRARY -DFAILS -shared -Xcompiler -fPIC %s -o %t.fails.so
// RUN: %build -DCALL=ex -DFAILS %s %t.fails.so -o %t.fails
// RUN: %silent %t.fails
// Two captured products whose first kernels look alike: nobody knows which node is which.
// RUN: %build -DLIBRARY -DALIKE -shared -Xcompiler -fPIC %s -o %t.alike.so
// RUN: %build -DCALL=ex -DCAPTURED -DTWICE %s %t.alike.so -o %t.alike
// RUN: %silent %t.alike
// RUN: %build -DCALL=ex -DALPHA=0 -DONLY_READ %s %t.so -o %t.zero
// RUN: %silent %t.zero
// RUN: %build -DCALL=ex -DROWS=0 %s %t.so -o %t.none
// RUN: %silent %t.none
//
// CHECK: ERROR: streamsan: read-after-write {{.*}} [256 bytes overlap]
// CHECK-NEXT: Read by kernel work{{.*}} (exact bytes)
// CHECK: product{{.*}}[[PRODUCT]]
// CHECK: Previous write by cudaMemcpyAsync
// EX: ERROR: streamsan: write-after-read {{.*}} [256 bytes overlap]
// BATCH: ERROR: streamsan: write-after-read {{.*}} [512 bytes overlap]
// CHECK-NEXT: Write by kernel work{{.*}} (exact bytes)
//
// PADDED: ERROR: streamsan: write-after-read {{.*}} [256 bytes overlap: 8 rows of 32 bytes, 64 apart]
// PADDED-NEXT: Write by kernel work{{.*}} (exact bytes)
//
// THIRD: ERROR: streamsan: read-after-write {{.*}} [256 bytes overlap]
// THIRD-NEXT: Read by kernel work{{.*}} (exact bytes)
//
// CAPTURED: ERROR: streamsan: read-after-write
// CAPTURED-NEXT: Read by kernel work{{.*}} (graph node {{[0-9]+}}) {{.*}} (exact bytes)
#include "must.h"

#include <cstdint>

#ifdef LIBRARY
__global__ void work(unsigned long long not_a, unsigned long long not_b, unsigned long long not_c) {
  reinterpret_cast<int*>(~not_c)[*reinterpret_cast<int*>(~not_a)] = *reinterpret_cast<int*>(~not_b);
}

static cudaStream_t g_stream;
static int launch(int m, const void* a, const void* b, void* c) {
  const auto hidden = [](const void* matrix) { return ~reinterpret_cast<unsigned long long>(matrix); };
#ifdef ALIKE
  if (m > 0) work<<<1, 32, 0, g_stream>>>(0, 0, 0);
#endif
#ifdef FAILS
  (void)hidden, (void)a, (void)b, (void)c;
  return 7;
#endif
  if (m > 0) work<<<1, 32, 0, g_stream>>>(hidden(a), hidden(b), hidden(c));
  return cudaGetLastError();
}

struct Layout {
  std::uint64_t rows, columns, by_rows;
};

extern "C" {
int cublasSetStream_v2(void*, cudaStream_t stream) { return g_stream = stream, 0; }
int cublasGetPointerMode_v2(void* handle, int* mode) { return *mode = handle ? 1 : 0, 0; }
int cublasSgemm_v2(void*, int, int, int m, int, int, const float*, const float* a, int, const float* b, int, const float*,
                   float* c, int) {
  return launch(m, a, b, c);
}
int cublasGemmEx(void*, int, int, int m, int, int, const void*, const void* a, int, int, const void* b, int, int,
                 const void*, void* c, int, int, int, int) {
  return launch(m, a, b, c);
}
int cublasGemmEx_64(void*, int, int, long long m, long long, long long, const void*, const void* a, int, long long,
                    const void* b, int, long long, const void*, void* c, int, long long, int, int) {
  return launch(m, a, b, c);
}
int cublasSgemmStridedBatched(void*, int, int, int m, int, int, const float*, const float* a, int, long long, const float* b,
                              int, long long, const float*, float* c, int, long long, int) {
  return launch(m, a, b, c);
}
int cublasLtMatmul(void*, void*, const void*, const void* a, void*, const void* b, void*, const void*, const void*, void*,
                   void* d, void* layout, const void*, void*, size_t, cudaStream_t stream) {
  g_stream = stream;
  return launch(static_cast<Layout*>(layout)->rows, a, b, d);
}
int cublasLtMatrixLayoutGetAttribute(const Layout* layout, int attribute, void* out, size_t bytes, size_t*) {
  const std::uint64_t values[] = {0 /* float */, layout->by_rows, layout->rows, layout->columns, layout->rows, 1, 0, 0};
  if (attribute > 7 || bytes > 8) return 7;
  return __builtin_memcpy(out, &values[attribute], bytes), 0;
}
int cublasLtMatmulDescGetAttribute(const void*, int attribute, void* out, size_t bytes, size_t*) {
  const std::uint64_t values[] = {68 /* float */, 0, 0};
  return attribute > 2 ? 7 : (__builtin_memcpy(out, &values[attribute], bytes), 0);
}
}
#else
#ifndef ALPHA
#define ALPHA 1
#endif
#ifndef BETA
#define BETA 0
#endif
#ifndef ROWS
#define ROWS 8
#endif

extern "C" {
int cublasSetStream_v2(void*, cudaStream_t);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int, const float*, int, const float*, float*, int);
int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*, void*,
                 int, int, int, int);
int cublasGemmEx_64(void*, int, int, long long, long long, long long, const void*, const void*, int, long long, const void*,
                    int, long long, const void*, void*, int, long long, int, int);
int cublasSgemmStridedBatched(void*, int, int, int, int, int, const float*, const float*, int, long long, const float*, int,
                              long long, const float*, float*, int, long long, int);
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*, void*,
                   void*, const void*, void*, size_t, cudaStream_t);
}

static const float kAlpha = ALPHA, kBeta = BETA;
constexpr int n = 8;  // 256 bytes a matrix
static int ex(const float* a, const float* b, float* c, cudaStream_t) {
#ifdef ON_DEVICE
  void* handle = &c;
  const void* scalar = reinterpret_cast<void*>(64);
#else
  void* handle = nullptr;
  const void* scalar = &kAlpha;
#endif
  return cublasGemmEx(handle, 0, 1, ROWS, n, n, scalar, a, 0, n, b, 0, n, &kBeta, c, 0, n, 68, 0);
}
// Where the copies end, four columns of 32 bytes, each 64 from the last, begin.
static int padded(const float* a, const float* b, float* c, cudaStream_t) {
  return cublasGemmEx(nullptr, 0, 0, n, n, n, &kAlpha, a, 0, n, b + 512, 0, n, &kBeta, c, 0, 2 * n, 68, 0);
}
static int long_sizes(const float* a, const float* b, float* c, cudaStream_t) {
  return cublasGemmEx_64(nullptr, 0, 1, n, n, n, &kAlpha, a, 0, n, b, 0, n, &kBeta, c, 0, n, 68, 0);
}
static int typed(const float* a, const float* b, float* c, cudaStream_t) {
  return cublasSgemm_v2(nullptr, 0, 1, ROWS, n, n, &kAlpha, a, n, b, n, &kBeta, c, n);
}
static int batch(const float* a, const float* b, float* c, cudaStream_t) {
  return cublasSgemmStridedBatched(nullptr, 0, 1, ROWS, n, n, &kAlpha, a, n, n * n, b, n, 0, &kBeta, c, n, n * n, 2);
}
struct Layout {
  std::uint64_t rows, columns, by_rows;
};
static int light(const float* a, const float* b, float* c, cudaStream_t stream) {
  Layout layout{ROWS, n, 0};
  return cublasLtMatmul(nullptr, nullptr, &kAlpha, a, &layout, b, &layout, &kBeta, c, &layout, c, &layout, nullptr, nullptr, 0,
                        stream);
}
static int by_rows(const float* a, const float* b, float* c, cudaStream_t stream) {
  Layout layout{n, n, 1};
  return cublasLtMatmul(nullptr, nullptr, &kAlpha, a, &layout, b, &layout, &kBeta, c, &layout, c, &layout, nullptr, nullptr, 0,
                        stream);
}
// The copies are of C here.
static int third(const float* a, const float* b, float* c, cudaStream_t stream) {
  Layout layout{n, n, 0};
  return cublasLtMatmul(nullptr, nullptr, &kAlpha, a, &layout, a, &layout, &kBeta, b, &layout, const_cast<float*>(a) + 512,
                        &layout, nullptr, nullptr, 0, ((void)c, stream));
}

__global__ void other() {}

__attribute__((noinline)) static void product(const float* a, const float* b, float* c, cudaStream_t stream) {
#ifdef FAILS
  if (CALL(a, b, c, stream) == 0) abort();
  other<<<1, 32, 0, stream>>>();
  return;
#endif
  if (CALL(a, b, c, stream) != 0) abort();  // @PRODUCT
}

int main() {
  constexpr size_t kBytes = 4096, kCopied = 512;
  float *a, *b, *c, *host;
  for (float** each : {&a, &b, &c}) must(cudaMalloc(each, kBytes));
  must(cudaMallocHost(&host, 2 * kBytes));
  cudaStream_t copies, compute;
  must(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  cudaEvent_t done;
  must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  cublasSetStream_v2(nullptr, compute);
#ifdef CAPTURED
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
  product(a, b, c, compute);
#ifdef TWICE
  product(b, c, a, compute);
#endif
  must(cudaStreamEndCapture(compute, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
#endif
  must(cudaMemcpyAsync(b, host, kCopied, cudaMemcpyHostToDevice, copies));
#ifdef BETWEEN
  must(cudaMemcpy2DAsync(host + kBytes / sizeof *host, 64, c + n, 64, 32, n, cudaMemcpyDeviceToHost, copies));
#elif !defined ONLY_READ
  must(cudaMemcpyAsync(host + kBytes / sizeof *host, c, kCopied, cudaMemcpyDeviceToHost, copies));
#endif
#ifdef FIXED
  must(cudaEventRecord(done, copies));
  must(cudaStreamWaitEvent(compute, done, 0));
#endif
#ifdef CAPTURED
  must(cudaGraphLaunch(exec, compute));
#else
  product(a, b, c, compute);
#endif
  must(cudaDeviceSynchronize());
}
#endif
