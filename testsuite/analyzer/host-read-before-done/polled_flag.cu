// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The host polls a flag in mapped memory that the kernel sets behind its result: a read of a volatile may tell that the
// work is done. A read of a plain number tells nothing.
#include <cuda_runtime.h>

__global__ void produce(float* data, volatile int* flag) {
  data[threadIdx.x] = 1.0f;
  __syncthreads();
  __threadfence_system();
  if (threadIdx.x == 0) *flag = 1;
}

struct Mapped {
  Mapped() {
    cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped);
    cudaHostAlloc(&data, 1024, cudaHostAllocMapped);
    cudaHostGetDevicePointer(&device_flag, flag, 0);
    cudaHostGetDevicePointer(&device_data, data, 0);
    *flag = 0;
  }
  int *flag, *device_flag;
  float *data, *device_data;
};

float polls(cudaStream_t s) {
  Mapped m;
  produce<<<1, 256, 0, s>>>(m.device_data, m.device_flag);
#ifdef FIXED
  while (*reinterpret_cast<volatile int*>(m.flag) == 0) {
  }
#endif
  float result = m.data[0];
// CHECK-MESSAGES: :[[@LINE-1]]:18: warning: the host may read 'm.data' while kernel 'produce' on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'm.data' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-20]]:5: note: 'm.data' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:10: note: in the call to 'Mapped::Mapped' here
// CHECK-NOTES: :[[@LINE-6]]:18: note: wait for stream 's' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(s);
  return result;
}

float asks_a_volatile_of_its_own(cudaStream_t s) {
  Mapped m;
  volatile int rounds = 3;
  produce<<<1, 256, 0, s>>>(m.device_data, m.device_flag);
  while (rounds > 0) rounds = rounds - 1;
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  return m.data[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'm.data' while kernel 'produce' on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'm.data' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE-38]]:5: note: 'm.data' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:10: note: in the call to 'Mapped::Mapped' here
// CHECK-NOTES: :[[@LINE-5]]:10: note: wait for stream 's' with cudaStreamSynchronize before the read
}
