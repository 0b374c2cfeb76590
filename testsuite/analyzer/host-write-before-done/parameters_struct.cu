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
  parameters->dt = 0.05f;  // FIRES: host-write-before-done
  cudaMemcpyAsync(d_parameters, parameters, sizeof(Parameters), cudaMemcpyHostToDevice, stream);
  integrate<<<1, 256, 0, stream>>>(d_parameters, x);
  cudaStreamSynchronize(stream);
  cudaFreeHost(parameters);
}
