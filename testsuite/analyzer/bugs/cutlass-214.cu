// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// NVIDIA/cutlass#214, WS: the split-K workspace is cleared on the default stream, the product runs on the caller's.
#include <cuda_runtime.h>

struct Arguments {
  const float* a;
  float* d;
  int split;
};

template <typename Element>
__global__ void split_k(const Element* a, int* semaphore, Element* d) {
  if (atomicAdd(semaphore, 1) >= 0) d[threadIdx.x] = a[threadIdx.x];
}

template <typename Element>
class Gemm {
 public:
  cudaError_t initialize(const Arguments& args, void* workspace, size_t bytes, cudaStream_t stream = nullptr) {
    if (args.split > 1) {
#ifdef FIXED
      cudaError_t result = cudaMemsetAsync(workspace, 0, bytes, stream);
#else
      cudaError_t result = cudaMemsetAsync(workspace, 0, bytes);
// CHECK-MESSAGES: :[[@LINE-1]]:28: warning: cudaMemsetAsync goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
      if (result != cudaSuccess) return result;
    }
    split_k<Element><<<1, 256, 0, stream>>>(args.a, static_cast<int*>(workspace), args.d);
    return cudaGetLastError();
  }
};

cudaError_t run(const Arguments& args, void* workspace, size_t bytes, cudaStream_t stream) {
  return Gemm<float>().initialize(args, workspace, bytes, stream);
}
