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
  square<<<1, 256, 0, queue.native()>>>(device);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'square' on non-blocking stream 'queue.stream_' may update 'device' while cudaMemcpy (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-18]]:5: note: 'device' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-4]]:3: note: in the call to 'BlockingQueue::copy_to_device' here
// CHECK-NOTES: :[[@LINE-20]]:5: note: cudaMemcpy (host to device) returns when its work may still be running (R-CPY-01)
// CHECK-NOTES: :[[@LINE-28]]:21: note: stream 'queue.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:17: note: in the call to 'BlockingQueue::BlockingQueue' here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'queue.stream_' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'queue.stream_' wait for it with cudaStreamWaitEvent before kernel 'square'
  cudaStreamSynchronize(queue.native());
}
