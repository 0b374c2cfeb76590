// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// An rmm::device_uvector frees on the stream it was made with; a kernel on another stream still reads.
#include <cuda_runtime.h>

#include <rmm/cuda_stream_view.hpp>
#include <rmm/device_uvector.hpp>

__global__ void gather(const int* map, int* out) { out[threadIdx.x] = map[threadIdx.x]; }

void run(int* out, int n) {
  cudaStream_t mine, other;
  cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  {
    rmm::device_uvector<int> map(n, rmm::cuda_stream_view{mine});
    cudaStreamSynchronize(mine);
    gather<<<1, 256, 0, other>>>(map.data(), out);
#ifdef FIXED
    cudaStreamSynchronize(other);
#endif
  }
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'map' is freed by free on the stream of 'map' while kernel 'gather' on stream 'other' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'map' is read here, on stream 'other'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:30: note: 'map' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: free it on stream 'other', or let the stream of 'map' wait for it first: record an event in stream 'other' after the read and use cudaStreamWaitEvent
  cudaStreamSynchronize(other);
}
