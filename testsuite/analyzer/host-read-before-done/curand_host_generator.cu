// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A host generator of cuRAND fills memory by itself and in no stream: what it wrote may be read at once.
#include <cuda_runtime.h>
#include <curand.h>

float first(int n) {
  curandGenerator_t generator;
#ifdef FIXED
  curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_DEFAULT);
#else
  curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
#endif
  float* numbers;
  cudaMallocManaged(&numbers, n * sizeof(float));
  curandGenerateUniform(generator, numbers, n);
  return numbers[0];
// CHECK-MESSAGES: :[[@LINE-1]]:10: warning: the host may read 'numbers' while curandGenerateUniform on the default stream still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'numbers' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: 'numbers' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:10: note: wait for the default stream with cudaStreamSynchronize before the read
}

// A caller's generator may be either. One that fills a local variable is the host's.
float of_caller(curandGenerator_t generator) {
  float two[2];
  curandGenerateUniform(generator, two, 2);
  return two[0];
}
