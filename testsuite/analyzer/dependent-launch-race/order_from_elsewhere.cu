// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
//
// What stands between the two kernels makes a programmatic launch an ordinary one, and so does nothing in front.
// never_waits.cu is the same without it.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void ordinary(float* unrelated) { unrelated[threadIdx.x] = 0; }

void launch(const float* data, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, consume, data, out);
}

void first_in_the_stream(float* data, float* out, cudaStream_t stream) { launch(data, out, stream); }
void a_copy(float* data, float* unrelated, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaMemsetAsync(unrelated, 0, 1024, stream);
  launch(data, out, stream);
}
void a_synchronisation(float* data, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaStreamSynchronize(stream);
  launch(data, out, stream);
}
void an_event_wait(float* data, float* out, cudaEvent_t event, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaStreamWaitEvent(stream, event, 0);
  launch(data, out, stream);
}
void an_ordinary_kernel(float* data, float* unrelated, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  ordinary<<<1, 256, 0, stream>>>(unrelated);
  launch(data, out, stream);
}
void behind_a_copy(float* data, const float* from, float* out, cudaStream_t stream) {
  cudaMemcpyAsync(data, from, 1024, cudaMemcpyDeviceToDevice, stream);
  launch(data, out, stream);
}
void ordinary_behind(float* data, float* unrelated, float* out, cudaStream_t stream) {
  launch(data, unrelated, stream);
  consume<<<1, 256, 0, stream>>>(unrelated, out);
}
