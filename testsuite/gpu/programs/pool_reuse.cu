// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Correct code that recycles addresses as fast as it can: stream-ordered memory from the default pool and from a
// pool of its own, handed from stream to stream with events. Each address lives many times; a checker that knows
// addresses instead of generations drowns in races here.
#include "kernels.cuh"
#include "stage.h"

namespace {
void use_and_free(float* data, cudaStream_t owner, cudaStream_t user) {
  fill<<<blocks_for(kCount), 256, 0, owner>>>(data, kCount, 1.0f);
  CHECK(cudaGetLastError());
  order(owner, user);
  add_one<<<blocks_for(kCount), 256, 0, user>>>(data, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaFreeAsync(data, user));
}
}  // namespace

int main() {
  cudaStream_t streams[3] = {non_blocking_stream(), non_blocking_stream(), blocking_stream()};
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  for (int round = 0; round < 300; ++round) {
    cudaStream_t owner = streams[round % 3];
    cudaStream_t user = streams[(round + 1) % 3];
    float *first, *second;
    CHECK(cudaMallocAsync(&first, kBytes, owner));
    use_and_free(first, owner, user);
    CHECK(cudaMallocFromPoolAsync(&second, kBytes, pool, owner));
    use_and_free(second, owner, user);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolDestroy(pool));
  return 0;
}
