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
    cudaMemcpyAsync(&host, data_, sizeof(T), cudaMemcpyDeviceToHost, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to host) on the default stream may read 'count.data_' while kernel 'count_nulls' on non-blocking stream 'stream' still atomically updates it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE+25]]:22: note: in the call to 'DeviceScalar<int>::value' here
// CHECK-NOTES: :[[@LINE+20]]:3: note: 'count.data_' is atomically updated here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+16]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:48: note: 'count.data_' is allocated here
// CHECK-NOTES: :[[@LINE+15]]:21: note: in the call to 'DeviceScalar<int>::DeviceScalar' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: the default stream does not wait for stream 'stream', which is non-blocking; record an event in stream 'stream' after the update and let the default stream wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
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
