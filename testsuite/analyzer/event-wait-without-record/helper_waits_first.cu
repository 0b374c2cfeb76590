// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// A method that waits for the last use of its memory before it hands it out is called before there was any: that wait
// does nothing, and need not. A wait that is written where nothing was ever recorded is a mistake.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }

class Staging {
 public:
  explicit Staging(size_t bytes) {
    cudaEventCreateWithFlags(&used_, cudaEventDisableTiming);
    cudaMallocHost(&memory_, bytes);
    float* first = take();
    first[0] = 0;
  }
  ~Staging() {
    cudaEventDestroy(used_);
    cudaFreeHost(memory_);
  }
  Staging(const Staging&) = delete;

  float* take() {
    cudaEventSynchronize(used_);
    return memory_;
  }
  void send(float* device, size_t bytes, cudaStream_t stream) {
    cudaMemcpyAsync(device, memory_, bytes, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(used_, stream);
  }

 private:
  cudaEvent_t used_ = nullptr;
  float* memory_ = nullptr;
};

void measure(float* device, float* pinned, size_t bytes, cudaStream_t stream) {
  cudaEvent_t copied;
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  produce<<<1, 256, 0, stream>>>(device);
  cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaEventRecord(copied, stream);
#endif
  cudaEventSynchronize(copied);  // FIRES: event-wait-without-record
  cudaEventDestroy(copied);
}
