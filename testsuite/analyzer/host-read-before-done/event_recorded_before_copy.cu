// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host waits for an event that was recorded before the copy.
#include <cuda_runtime.h>

__global__ void count(const int* in, int* out) { atomicAdd(out, in[threadIdx.x]); }

int total(const int* in, int* d_out, int* pinned_out_parameter) {
  cudaStream_t stream;
  cudaEvent_t done;
  int* out = nullptr;
  cudaStreamCreate(&stream);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMallocHost(&out, sizeof(int));
  count<<<1, 256, 0, stream>>>(in, d_out);
#ifdef FIXED
  cudaMemcpyAsync(out, d_out, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaEventRecord(done, stream);
#else
  cudaEventRecord(done, stream);
  cudaMemcpyAsync(out, d_out, sizeof(int), cudaMemcpyDeviceToHost, stream);
#endif
  cudaEventSynchronize(done);
  const int result = *out;  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  cudaFreeHost(out);
  return result;
}
