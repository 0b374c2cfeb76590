// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// An rmm::device_uvector frees on the stream it was made with; a kernel on another stream still reads.
#include <cuda_runtime.h>

#include <rmm/cuda_stream_view.hpp>
#include <rmm/device_uvector.hpp>

__global__ void gather(const int* map, int* out) { out[threadIdx.x] = map[threadIdx.x]; }

void run(int* out, int n) {
  cudaStream_t mine, other;
  cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  {
    rmm::device_uvector<int> map(n, rmm::cuda_stream_view{mine});
    cudaStreamSynchronize(mine);
    gather<<<1, 256, 0, other>>>(map.data(), out);
#ifdef FIXED
    cudaStreamSynchronize(other);
#endif
  }  // FIRES: premature-free
  cudaStreamSynchronize(other);
}
