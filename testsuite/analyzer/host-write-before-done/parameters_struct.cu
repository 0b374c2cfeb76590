// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A pinned parameter block is changed after its upload was enqueued.
#include <cuda_runtime.h>

struct Parameters {
  float dt;
  int steps;
};

__global__ void integrate(const Parameters* p, float* x) { x[threadIdx.x] += p->dt; }

void run(Parameters* d_parameters, float* x) {
  cudaStream_t stream;
  Parameters* parameters = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&parameters, sizeof(Parameters));
  parameters->dt = 0.1f;
  parameters->steps = 10;
  cudaMemcpyAsync(d_parameters, parameters, sizeof(Parameters), cudaMemcpyHostToDevice, stream);
  integrate<<<1, 256, 0, stream>>>(d_parameters, x);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  parameters->dt = 0.05f;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may write 'parameters' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'parameters' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+6]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'parameters' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the write
  cudaMemcpyAsync(d_parameters, parameters, sizeof(Parameters), cudaMemcpyHostToDevice, stream);
  integrate<<<1, 256, 0, stream>>>(d_parameters, x);
  cudaStreamSynchronize(stream);
  cudaFreeHost(parameters);
}
