// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// NVIDIA/cudf#6580, WS: a device scalar's methods have a defaulted stream; the caller forgets to pass its own.
#include <cuda_runtime.h>

template <typename T>
class DeviceScalar {
 public:
  explicit DeviceScalar(cudaStream_t stream) { cudaMallocAsync(&data_, sizeof(T), stream); }
  T* data() { return data_; }
  void set_to_zero(cudaStream_t stream = 0) { cudaMemsetAsync(data_, 0, sizeof(T), stream); }
  T value(cudaStream_t stream = 0) const {
    T host{};
    cudaMemcpyAsync(&host, data_, sizeof(T), cudaMemcpyDeviceToHost, stream);  // FIRES: nonblocking-vs-default
    cudaStreamSynchronize(stream);
    return host;
  }

 private:
  T* data_ = nullptr;
};

__global__ void count_nulls(const unsigned* mask, int* count) { atomicAdd(count, __popc(mask[threadIdx.x])); }

int null_count(const unsigned* mask) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  DeviceScalar<int> count(stream);
  count.set_to_zero(stream);
  count_nulls<<<1, 256, 0, stream>>>(mask, count.data());
#ifdef FIXED
  const int result = count.value(stream);
#else
  const int result = count.value();
#endif
  cudaStreamDestroy(stream);
  return result;
}
