// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A function that is given the attribute sets it; the configuration is one braced list.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
// CHECK-MESSAGES: :[[@LINE-1]]:75: warning: kernel 'consume' on stream 'config.stream' may read 'data' while kernel 'produce' in front of it still writes it: its launch lets the two overlap, and it never waits [streamsan-dependent-launch-race]
// CHECK-NOTES: :[[@LINE+19]]:3: note: kernel 'consume' is launched here
// CHECK-NOTES: :[[@LINE+13]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-4]]:75: note: call cudaGridDependencySynchronize() in the kernel before that, or launch it without the attribute

void allow_overlap(cudaLaunchAttribute& attribute, bool on) {
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
#ifdef FIXED
  attribute.val.programmaticStreamSerializationAllowed = 0;
#else
  attribute.val.programmaticStreamSerializationAllowed = 1;
#endif
}

void run(float* data, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchAttribute attributes[2];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  allow_overlap(attributes[1], true);
  cudaLaunchConfig_t config = {dim3(1), dim3(256), 0, stream, attributes, 2};
  cudaLaunchKernelEx(&config, consume, static_cast<const float*>(data), out);
}
