// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that waits, while it runs beside the one that produces, for flags of system scope: the order between the two is
// made inside, where nobody sees it. Without the wait what the code proves is a race.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DWAITS %s -o %t.waits
// RUN: %computed %expect 0 %streamsan run %t.waits 2>&1 | %filecheck %s --check-prefix=WAITS
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel consume{{.*}} (exact bytes)
//
// Memory that is freed before such a kernel is launched is freed all the same.
// RUN: %build -DWAITS -DFREED %s -o %t.freed
// RUN: %computed %expect 0 %streamsan run --min_severity=possible -- %t.freed 2>&1 | %sites --check-prefix=FREED
//
// RUN: %computed %expect 0 %streamsan run --min_severity=possible -- %t.waits 2>&1 | %sites --check-prefix=SHOWN
// SHOWN: POSSIBLE: streamsan: read-after-write
// SHOWN: waits in a loop for a word that another kernel or the host stores
//
// WAITS: no errors, 1 possible
//
// FREED: POSSIBLE: streamsan: use-after-free
// FREED: by kernel consume
// FREED-NOT: in a loop
#include "must.h"

constexpr int kChunks = 16, kChunk = 256;

__global__ void produce(float* data, unsigned* flags, unsigned epoch) {
  data[blockIdx.x * kChunk + threadIdx.x] = epoch;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) atomicExch_system(flags + blockIdx.x, epoch);
}

__global__ void consume(const float* data, const unsigned* flags, unsigned epoch, float* sums) {
#ifdef WAITS
  if (threadIdx.x == 0) {
    unsigned value = 0;
    do {
      asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flags + blockIdx.x) : "memory");
    } while (value != epoch);
  }
  __syncthreads();
#endif
  sums[blockIdx.x * kChunk + threadIdx.x] = data[blockIdx.x * kChunk + threadIdx.x];
}

int main() {
  float *data, *sums;
  unsigned* flags;
  must(cudaMalloc(&data, kChunks * kChunk * sizeof(float)));
  must(cudaMalloc(&sums, kChunks * kChunk * sizeof(float)));
  must(cudaMalloc(&flags, kChunks * sizeof(unsigned)));
  must(cudaMemset(flags, 0, kChunks * sizeof(unsigned)));
  must(cudaDeviceSynchronize());
  cudaStream_t first, second;
  must(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  produce<<<kChunks, kChunk, 0, first>>>(data, flags, 1);
#ifdef FREED
  must(cudaDeviceSynchronize());
  must(cudaFree(data));
#endif
  consume<<<kChunks, kChunk, 0, second>>>(data, flags, 1, sums);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
