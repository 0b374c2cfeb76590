// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A cuFFT plan runs in the stream it was given.
#include <cuda_runtime.h>
#include <cufft.h>

__global__ void window(cufftComplex* x) { x[threadIdx.x].x *= 0.5f; }

void spectrum(cufftHandle plan, cufftComplex* signal, cufftComplex* out) {
  cudaStream_t prepare, transform;
  cudaStreamCreateWithFlags(&prepare, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&transform, cudaStreamNonBlocking);
  window<<<1, 256, 0, prepare>>>(signal);
#ifdef FIXED
  cufftSetStream(plan, prepare);
#else
  cufftSetStream(plan, transform);
#endif
  cufftExecC2C(plan, signal, out, CUFFT_FORWARD);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cufftExecC2C on the stream of 'plan' may update 'signal' while kernel 'window' on stream 'prepare' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'signal' is updated here, on stream 'prepare'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'prepare' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: the stream of 'plan' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders the stream of 'plan' after stream 'prepare': record an event in stream 'prepare' after the update and let the stream of 'plan' wait for it with cudaStreamWaitEvent before cufftExecC2C
  cudaStreamSynchronize(transform);
  cudaStreamSynchronize(prepare);
}
