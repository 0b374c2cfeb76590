// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// NVIDIA/DALI#3950, XW: the output is copied on the user's stream; the next iteration overwrites it on the stage's.
#include <cuda_runtime.h>

class Stage {
 public:
  Stage() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming);
  }
  void run(float* output);
  void copy_to_external(float* to, const float* output, size_t bytes, cudaStream_t user) {
    cudaStreamSynchronize(stream_);
    cudaMemcpyAsync(to, output, bytes, cudaMemcpyDeviceToDevice, user);
#ifdef FIXED
    cudaEventRecord(copied_, user);
    cudaStreamWaitEvent(stream_, copied_, 0);
#endif
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t copied_;
};

__global__ void decode(float* output) { output[threadIdx.x] = 1.0f; }

void Stage::run(float* output) {
  decode<<<1, 256, 0, stream_>>>(output);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'decode' on stream 'stage.stream_' may write 'output' while cudaMemcpyAsync (device to device) on stream 'user' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'Stage::run' here
// CHECK-NOTES: :[[@LINE-18]]:5: note: 'output' is read here, on stream 'user'
// CHECK-NOTES: :[[@LINE+12]]:3: note: in the call to 'Stage::copy_to_external' here
// CHECK-NOTES: :[[@LINE+8]]:3: note: stream 'user' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-27]]:5: note: stream 'stage.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+7]]:9: note: in the call to 'Stage::Stage' here
// CHECK-NOTES: :[[@LINE-8]]:3: note: nothing orders stream 'stage.stream_' after stream 'user': record an event in stream 'user' after the read and let stream 'stage.stream_' wait for it with cudaStreamWaitEvent before kernel 'decode'
}

void iterate(float* output, float* external, size_t bytes) {
  cudaStream_t user;
  cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking);
  Stage stage;
  stage.run(output);
  stage.copy_to_external(external, output, bytes, user);
  stage.run(output);
  cudaStreamSynchronize(user);
}
