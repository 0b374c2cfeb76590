// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A structure, memory on the device, or a number that its index is computed of says which part a kernel is for: not the
// one that is being received. Where nothing says so, it begins with the first part.
#include <cuda_runtime.h>

struct View {
  float* data;
  int first, count;
};

__global__ void sum(const float* data, float* out) { atomicAdd(out, data[threadIdx.x]); }
__global__ void sum_view(View v, float* out) { atomicAdd(out, v.data[v.first + threadIdx.x]); }
__global__ void sum_at(const float* data, const int* first, float* out) { atomicAdd(out, data[*first + threadIdx.x]); }

struct Streams {
  Streams() {
    cudaStreamCreateWithFlags(&receive, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  }
  cudaStream_t receive, work;
};

void not_told(float* inbox, const float* const* peers, float* out, int count, int n) {
  Streams s;
  for (int i = 0; i < count; ++i) {
    cudaMemcpyAsync(inbox + i * n, peers[i], n * sizeof(float), cudaMemcpyDeviceToDevice, s.receive);
#ifdef FIXED
    cudaStreamSynchronize(s.receive);
#endif
    sum<<<1, 256, 0, s.work>>>(inbox, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'sum' on stream 's.work' may read 'inbox' while cudaMemcpyAsync (device to device) on stream 's.receive' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'inbox' is written here, on stream 's.receive'
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 's.receive' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:11: note: in the call to 'Streams::Streams' here
// CHECK-NOTES: :[[@LINE-17]]:5: note: stream 's.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 's.work' after stream 's.receive': record an event in stream 's.receive' after the write and let stream 's.work' wait for it with cudaStreamWaitEvent before kernel 'sum'
    cudaDeviceSynchronize();
  }
}

void given_part(float* inbox, const float* const* peers, const int* firsts, float* out, int count, int n) {
  Streams s;
  for (int i = 0; i < count; ++i) {
    cudaMemcpyAsync(inbox + i * n, peers[i], n * sizeof(float), cudaMemcpyDeviceToDevice, s.receive);
    View ready{inbox, (i + 1) * n, n};
    sum_view<<<1, 256, 0, s.work>>>(ready, out);
    sum_at<<<1, 256, 0, s.work>>>(inbox, firsts + i, out);
    cudaDeviceSynchronize();
  }
}
