// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The textbook pipeline: upload on one stream, compute on another, download of the result. Racy: nothing tells the
// compute stream when the upload has landed. Repaired: an event.
//
// The streams are blocking ones and the program never uses the default stream, so per-thread default stream builds and
// legacy builds have the same race.
#include "check.h"
#include "kernels.cuh"

int main() {
  constexpr int kCount = 1 << 20;
  constexpr size_t kBytes = kCount * sizeof(float);
  float *host_in, *host_out, *in, *out;
  CHECK(cudaMallocHost(&host_in, kBytes));
  CHECK(cudaMallocHost(&host_out, kBytes));
  CHECK(cudaMalloc(&in, kBytes));  // site: allocation
  CHECK(cudaMalloc(&out, kBytes));
  for (int i = 0; i < kCount; ++i) host_in[i] = 2.0f;

  cudaStream_t upload, compute;
  CHECK(cudaStreamCreate(&upload));
  CHECK(cudaStreamCreate(&compute));
  cudaEvent_t uploaded;
  CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));

  CHECK(cudaMemcpyAsync(in, host_in, kBytes, cudaMemcpyHostToDevice, upload));  // site: copy
#ifdef FIXED
  CHECK(cudaEventRecord(uploaded, upload));
  CHECK(cudaStreamWaitEvent(compute, uploaded, 0));
#endif
  scale<<<blocks_for(kCount), 256, 0, compute>>>(in, out, kCount, 3.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host_out, out, kBytes, cudaMemcpyDeviceToHost, compute));
  CHECK(cudaStreamSynchronize(compute));
  expect_all(host_out, kCount, 6.0f);

  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(uploaded));
  CHECK(cudaStreamDestroy(upload));
  CHECK(cudaStreamDestroy(compute));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  CHECK(cudaFreeHost(host_in));
  CHECK(cudaFreeHost(host_out));
  return 0;
}
