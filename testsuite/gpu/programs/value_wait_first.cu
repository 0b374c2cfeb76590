// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-MOP-04: the wait of a consumer is submitted before the work of the producer, behind which the value is written.
// That is in order; without the wait, the copy reads what the kernel may be writing. The kernel has run before: to load it
// the driver would wait for the stream that waits.
#include <cuda.h>

#include "kernels.cuh"
#include "stage.h"

#define DRIVER(call)                                                        \
  if ((call) != CUDA_SUCCESS) {                                             \
    std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #call); \
    std::exit(2);                                                           \
  }

int main() {
  cudaStream_t producer = non_blocking_stream();
  cudaStream_t consumer = non_blocking_stream();
  float* data = device_floats();
  float* taken = device_floats();
  float* host = pinned_floats();
  unsigned* flag;
  CHECK(cudaMalloc(&flag, sizeof *flag));
  fill<<<blocks_for(kCount), 256>>>(data, kCount, 0.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaMemset(flag, 0, sizeof *flag));
  CHECK(cudaDeviceSynchronize());
  const auto word = reinterpret_cast<CUdeviceptr>(flag);
  for (unsigned round = 1; round <= 3; ++round) {
#ifdef FIXED
    DRIVER(cuStreamWaitValue32(consumer, word, round, CU_STREAM_WAIT_VALUE_GEQ));
#endif
    CHECK(cudaMemcpyAsync(taken, data, kBytes, cudaMemcpyDeviceToDevice, consumer));  // site: copy
    fill<<<blocks_for(kCount), 256, 0, producer>>>(data, kCount, static_cast<float>(round));  // site: kernel
    CHECK(cudaGetLastError());
    DRIVER(cuStreamWriteValue32(producer, word, round, CU_STREAM_WRITE_VALUE_DEFAULT));
    CHECK(cudaStreamSynchronize(producer));
    CHECK(cudaStreamSynchronize(consumer));
  }
  CHECK(cudaMemcpy(host, taken, kBytes, cudaMemcpyDeviceToHost));
#ifdef FIXED
  expect_all(host, kCount, 3.0f);
#endif
  return 0;
}
