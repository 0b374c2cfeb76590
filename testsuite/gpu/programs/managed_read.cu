// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that host and device share, read by the host while a kernel writes it. Repaired: it waits for the kernel.
//
//   managed_read managed|variable|mapped
//
// allocated by cudaMallocManaged, a __managed__ variable, or pinned memory that the kernel reaches at its device
// address. What the kernel writes must be known for this to be certain: from its code, or by measuring.
#include <cstring>

#include "kernels.cuh"
#include "stage.h"

namespace {

constexpr int kFloats = 1 << 16;
__managed__ float variable[kFloats];

float* shared_floats(const char* kind) {
  float* floats = variable;
  if (std::strcmp(kind, "managed") == 0) CHECK(cudaMallocManaged(&floats, kFloats * sizeof(float)));
  if (std::strcmp(kind, "mapped") == 0) CHECK(cudaHostAlloc(&floats, kFloats * sizeof(float), cudaHostAllocMapped));
  return floats;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cudaStream_t stream = non_blocking_stream();
  float* host = shared_floats(argv[1]);
  for (int i = 0; i < kFloats; ++i) host[i] = 1.0f;
  float* device = host;
  if (std::strcmp(argv[1], "mapped") == 0) CHECK(cudaHostGetDevicePointer(&device, host, 0));
  fill<<<blocks_for(kFloats), 256, 0, stream>>>(device, kFloats, 2.0f);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  const float first = host[0];  // site: read
  CHECK(cudaDeviceSynchronize());
  expect_all(&first, 1, 2.0f);
  expect_all(host, kFloats, 2.0f);
  std::printf("%s: done\n", argv[1]);
  return 0;
}
