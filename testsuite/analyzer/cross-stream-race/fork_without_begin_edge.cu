// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The join is there, the fork is not: nothing orders the workers after the upload of their input.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void work(const float* shared_input, float* out) { out[threadIdx.x] = shared_input[threadIdx.x]; }

void fork(float* input, const float* h_input, size_t bytes, float** outputs) {
  cudaStream_t streams[kStreams], upload;
  cudaEvent_t uploaded;
  cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming);
  for (int i = 0; i < kStreams; ++i) cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  cudaMemcpyAsync(input, h_input, bytes, cudaMemcpyHostToDevice, upload);
  cudaEventRecord(uploaded, upload);
  for (int i = 0; i < kStreams; ++i) {
#ifdef FIXED
    cudaStreamWaitEvent(streams[i], uploaded, 0);
#endif
    work<<<1, 256, 0, streams[i]>>>(input, outputs[i]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'work' on stream 'streams[i]' may read 'input' while cudaMemcpyAsync (host to device) on stream 'upload' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'input' is written here, on stream 'upload'
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'uploaded' is recorded here, after the write, but stream 'streams[i]' does not wait for it
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'upload' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:38: note: stream 'streams[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: let stream 'streams[i]' wait for event 'uploaded' with cudaStreamWaitEvent before kernel 'work'
  }
  for (int i = 0; i < kStreams; ++i) cudaStreamSynchronize(streams[i]);
}
