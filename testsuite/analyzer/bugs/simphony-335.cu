// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// BNLNPPS/simphony#335, OS: a device synchronisation right after a call that has already synchronised the device.
#include <cuda_runtime.h>

__global__ void simulate(float* photons) { photons[threadIdx.x] += 1.0f; }

class Simulator {
 public:
  void run(float* photons) {
    simulate<<<1, 256>>>(photons);
    cudaDeviceSynchronize();
  }
};

void event(Simulator& simulator, float* photons) {
  simulator.run(photons);
#ifndef FIXED
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-9]]:5: note: cudaDeviceSynchronize has waited for the same work here
// CHECK-NOTES: :[[@LINE-5]]:3: note: in the call to 'Simulator::run' here
#endif
}
