// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, built in three ways: bytes arrive, and each build uses the driver functions the real runtime would.
//
// RUN: %build_shared -o %t.shared
// RUN: env STREAMSAN_NULL_COUNTS=%t.shared.counts %t.shared | %filecheck %s --check-prefix=OUT
// RUN: %filecheck %s --check-prefix=PLAIN --input-file=%t.shared.counts
// RUN: %build_static -o %t.static
// RUN: env STREAMSAN_NULL_COUNTS=%t.static.counts %t.static | %filecheck %s --check-prefix=OUT
// RUN: diff %t.shared.counts %t.static.counts
// RUN: %build_ptds -o %t.ptds
// RUN: env STREAMSAN_NULL_COUNTS=%t.ptds.counts %t.ptds | %filecheck %s --check-prefix=OUT
// RUN: %filecheck %s --check-prefix=PTDS --input-file=%t.ptds.counts

#include "check.h"

__global__ void consume(const float* in, int n, float* out) { out[0] = in[n]; }
template <class T>
__global__ void fill(T* out) {
  *out = 1;
}

int main() {
  float in[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float out[8] = {};
  float *a, *b;
  cudaStream_t copying, computing;
  cudaEvent_t copied;
  CHECK(cudaMalloc(&a, sizeof(in)));
  CHECK(cudaMalloc(&b, sizeof(in)));
  CHECK(cudaStreamCreate(&copying));
  CHECK(cudaStreamCreateWithFlags(&computing, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));

  CHECK(cudaMemcpyAsync(a, in, sizeof(in), cudaMemcpyHostToDevice, copying));
  CHECK(cudaEventRecord(copied, copying));
  CHECK(cudaStreamWaitEvent(computing, copied));
  consume<<<1, 32, 0, computing>>>(a, 1, b);
  fill<<<2, 32, 0, computing>>>(b);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(b, a, sizeof(in), cudaMemcpyDeviceToDevice, computing));
  CHECK(cudaMemcpyAsync(out, b, 4 * sizeof(float), cudaMemcpyDeviceToHost, computing));
  CHECK(cudaStreamSynchronize(computing));
  CHECK(cudaMemset(a, 0, 4));
  CHECK(cudaMemcpy(out + 4, b + 4, 4 * sizeof(float), cudaMemcpyDefault));
  CHECK(cudaDeviceSynchronize());

  // OUT: out: 0 1 2 3 4 5 6 7
  std::printf("out:");
  for (float value : out) std::printf(" %g", value);
  std::printf("\n");
  // The launch of nothing is the program's mistake, and is reported once.
  // OUT: empty grid: cudaErrorInvalidValue, then cudaSuccess
  consume<<<0, 32>>>(a, 1, b);
  const cudaError_t wrong = cudaGetLastError();
  std::printf("empty grid: %s, then %s\n", cudaGetErrorName(wrong), cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaEventDestroy(copied));
  CHECK(cudaStreamDestroy(copying));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

// PLAIN-DAG: {{^}}cuEventRecord 1{{$}}
// PLAIN-DAG: {{^}}cuLaunchKernel 3{{$}}
// PLAIN-DAG: {{^}}cuLibraryGetKernel 2{{$}}
// PLAIN-DAG: {{^}}cuLibraryUnload 1{{$}}
// PLAIN-DAG: {{^}}cuMemFree_v2 2{{$}}
// PLAIN-DAG: {{^}}cuMemcpyDtoDAsync_v2 1{{$}}
// PLAIN-DAG: {{^}}cuMemcpyDtoHAsync_v2 1{{$}}
// PLAIN-DAG: {{^}}cuMemcpyHtoDAsync_v2 1{{$}}
// PLAIN-DAG: {{^}}cuMemcpy 1{{$}}
// PLAIN-DAG: {{^}}cuMemsetD8_v2 1{{$}}
// PLAIN-DAG: {{^}}cuStreamDestroy_v2 1{{$}}
// PLAIN-DAG: {{^}}cuStreamWaitEvent 1{{$}}
// PLAIN-NOT: _pt

// PTDS-DAG: {{^}}cuEventRecord_ptsz 1{{$}}
// PTDS-DAG: {{^}}cuLaunchKernel_ptsz 3{{$}}
// PTDS-DAG: {{^}}cuMemFree_v2 2{{$}}
// PTDS-DAG: {{^}}cuMemcpyDtoDAsync_v2_ptsz 1{{$}}
// PTDS-DAG: {{^}}cuMemcpyDtoHAsync_v2_ptsz 1{{$}}
// PTDS-DAG: {{^}}cuMemcpyHtoDAsync_v2_ptsz 1{{$}}
// PTDS-DAG: {{^}}cuMemcpy_ptds 1{{$}}
// PTDS-DAG: {{^}}cuMemsetD8_v2_ptds 1{{$}}
// PTDS-DAG: {{^}}cuStreamWaitEvent_ptsz 1{{$}}
