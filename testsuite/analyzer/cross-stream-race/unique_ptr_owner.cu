// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams held by std::unique_ptr with a deleter.
#include <cuda_runtime.h>

#include <memory>

struct StreamDeleter {
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
};
using UniqueStream = std::unique_ptr<CUstream_st, StreamDeleter>;

UniqueStream make_stream() {
  cudaStream_t s = nullptr;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  return UniqueStream(s);
}

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  UniqueStream a = make_stream();
  UniqueStream b = make_stream();
  produce<<<1, 256, 0, a.get()>>>(data);
#ifdef FIXED
  cudaStreamSynchronize(a.get());
#endif
  consume<<<1, 256, 0, b.get()>>>(data, out);  // FIRES: cross-stream-race
  cudaStreamSynchronize(b.get());
  cudaStreamSynchronize(a.get());
}
