// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two RMM stream views, one device_uvector.
#include <cuda_runtime.h>

#include <rmm/cuda_stream.hpp>
#include <rmm/device_uvector.hpp>

__global__ void produce(int* out) { out[threadIdx.x] = 1; }
__global__ void consume(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(int* out) {
  rmm::cuda_stream front{rmm::cuda_stream::flags::non_blocking};
  rmm::cuda_stream back{rmm::cuda_stream::flags::non_blocking};
  rmm::device_uvector<int> map(256, front.view());
  produce<<<1, 256, 0, front.value()>>>(map.data());
#ifdef FIXED
  front.synchronize();
#endif
  consume<<<1, 256, 0, back.value()>>>(map.data(), out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'back' may read 'map' while kernel 'produce' on stream 'front' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'map' is written here, on stream 'front'
// CHECK-NOTES: :[[@LINE-10]]:20: note: stream 'front' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:20: note: stream 'back' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:28: note: 'map' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'back' after stream 'front': record an event in stream 'front' after the write and let stream 'back' wait for it with cudaStreamWaitEvent before kernel 'consume'
  back.synchronize();
  front.synchronize();
}
