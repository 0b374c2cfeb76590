// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A kernel lets the next one begin and stores its result after that: who does not wait for the whole kernel reads too
// early. The wrapper that launches them knows neither of the two kernels.
#include <cuda_runtime.h>

#include <map>
#include <string>

// A condition inside of a kernel hides nothing: what stands there is read, too.
#ifdef FIXED
#define WAIT_FOR_FRONT cudaGridDependencySynchronize()
#else
#define WAIT_FOR_FRONT
#endif

__global__ void normalize(const float* in, float* out) {
  const float value = in[threadIdx.x];
  cudaTriggerProgrammaticLaunchCompletion();
  out[threadIdx.x] = value * 0.5f;
}

__global__ void accumulate(const float* in, float* out) {
  WAIT_FOR_FRONT;
  out[threadIdx.x] += in[threadIdx.x];
}

using Kernel = void (*)(const float*, float*);

void launch_behind(Kernel kernel, const float* in, float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, in, out);
}

int main() {
  constexpr size_t kBytes = 256 * sizeof(float);
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::map<std::string, float*> buffers;
  for (const char* name : {"input", "scaled", "sum"}) cudaMalloc(&buffers[name], kBytes);
  const std::map<std::string, Kernel> kernels = {{"accumulate", accumulate}};

  normalize<<<1, 256, 0, stream>>>(buffers["input"], buffers["scaled"]);
  launch_behind(kernels.at("accumulate"), buffers["scaled"], buffers["sum"], stream);  // FIRES: dependent-launch-race
  cudaStreamSynchronize(stream);
}
