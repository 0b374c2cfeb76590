// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check implicit-default-stream %s
// RUN: %check implicit-default-stream %s -- -DFIXED
//
// NVIDIA/raft#259, OS: value() without its stream argument waits for the default stream, and with it for all others.
#include <cuda_runtime.h>

class DeviceCounter {
 public:
  explicit DeviceCounter(int* data) : data_(data) {}
  int* data() const { return data_; }
  int value(cudaStream_t stream = 0) const {
    int host = 0;
    cudaMemcpyAsync(&host, data_, sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return host;
  }

 private:
  int* data_;
};

__global__ void edges(const int* graph, int* count) { atomicAdd(count, graph[threadIdx.x]); }

int count_edges(const int* graph, const DeviceCounter& counter, cudaStream_t stream) {
  edges<<<1, 256, 0, stream>>>(graph, counter.data());
#ifdef FIXED
  return counter.value(stream);
#else
  return counter.value();
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: DeviceCounter::value goes to the default stream although stream 'stream' is in scope [streamsan-implicit-default-stream]
#endif
}
