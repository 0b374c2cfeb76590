// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// alpaka-group/alpaka#850, IM: the blocking queue copies with cudaMemcpy, its kernels run in a non-blocking stream.
#include <cuda_runtime.h>

class BlockingQueue {
 public:
  BlockingQueue() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  ~BlockingQueue() { cudaStreamDestroy(stream_); }
  void copy_to_device(void* to, const void* from, size_t bytes) {
#ifdef FIXED
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_);
    cudaStreamSynchronize(stream_);
#else
    cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);
#endif
  }
  cudaStream_t native() const { return stream_; }

 private:
  cudaStream_t stream_;
};

__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }

void run(int* device) {
  BlockingQueue queue;
  int host[256];
  for (int i = 0; i < 256; ++i) host[i] = i;
  queue.copy_to_device(device, host, sizeof(host));
  square<<<1, 256, 0, queue.native()>>>(device);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(queue.native());
}
