// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED -DOPTIONAL
// RUN: %check event-wait-without-record %s -- -DFIXED -DCHOSEN
//
// A helper records the event that it is given, and is called for one event alone. The other one is that of a stage that the
// command line asks for: a wait for what was left out waits for nothing, which is right. Without that stage it is a mistake.
#include <cuda_runtime.h>

__global__ void load(float* image) { image[threadIdx.x] = 1; }
__global__ void clean(float* image) { image[threadIdx.x] += 1; }
__global__ void show(const float* image, float* screen) { screen[threadIdx.x] = image[threadIdx.x]; }

void finish(cudaEvent_t event, cudaStream_t stream) { cudaEventRecord(event, stream); }

int main(int argc, char**) {
  cudaStream_t loading, showing;
  cudaEvent_t loaded, cleaned;
  float *image, *screen;
  cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&showing, cudaStreamNonBlocking);
  cudaEventCreate(&loaded);
  cudaEventCreate(&cleaned);
  cudaMalloc(&image, 256 * sizeof(float));
  cudaMalloc(&screen, 256 * sizeof(float));
  load<<<1, 256, 0, loading>>>(image);
#if defined CHOSEN
  finish(argc > 1 ? cleaned : loaded, loading);
#else
  finish(loaded, loading);
#endif
#if defined OPTIONAL
  if (argc > 1) {
    clean<<<1, 256, 0, loading>>>(image);
    finish(cleaned, loading);
  }
#endif
  cudaStreamWaitEvent(showing, loaded, 0);
  cudaStreamWaitEvent(showing, cleaned, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: stream 'showing' waits for event 'cleaned', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-18]]:3: note: event 'cleaned' is created here
// CHECK-NOTES: :[[@LINE-3]]:3: note: record event 'cleaned' with cudaEventRecord before the wait
  show<<<1, 256, 0, showing>>>(image, screen);
  cudaDeviceSynchronize();
}
