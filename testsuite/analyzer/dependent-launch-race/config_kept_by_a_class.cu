// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A class keeps the configuration, and its constructor sets the attribute. A function that is given such an object, and a
// method of it, launch by that.
#include <cuda_runtime.h>

#ifdef FIXED
#define WAIT_FIRST cudaGridDependencySynchronize()
#else
#define WAIT_FIRST
#endif

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) {
  WAIT_FIRST;
  out[threadIdx.x] = in[threadIdx.x];  // FIRES: dependent-launch-race
}
__global__ void consume_in_method(const float* in, float* out) {
  WAIT_FIRST;
  out[threadIdx.x] = in[threadIdx.x];  // FIRES: dependent-launch-race
}
// silent: these have a class whose launches need not overlap
__global__ void consume_perhaps(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void consume_switched_off(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

class EarlyStart {
 public:
  EarlyStart(int blocks, cudaStream_t stream) {
    attribute_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_.val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = dim3(blocks);
    config_.blockDim = dim3(256);
    config_.stream = stream;
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  const cudaLaunchConfig_t* get() const { return &config_; }
  void work(const float* in, float* out) const { cudaLaunchKernelEx(&config_, consume_in_method, in, out); }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_{};
};

void second(const EarlyStart& launch, const float* in, float* out) {
  cudaLaunchKernelEx(launch.get(), consume, in, out);
}
void both(float* data, float* out, cudaStream_t stream) {
  const EarlyStart launch(1, stream);
  cudaLaunchKernelEx(launch.get(), produce, data);
  second(launch, data, out);
}
void by_method(float* data, float* out, cudaStream_t stream) {
  const EarlyStart launch(1, stream);
  cudaLaunchKernelEx(launch.get(), produce, data);
  launch.work(data, out);
}

// Two constructors that differ; and a method that may take it back.
class PerhapsEarly {
 public:
  explicit PerhapsEarly(cudaStream_t stream) : PerhapsEarly(stream, false) {}
  PerhapsEarly(cudaStream_t stream, bool early) {
    attribute_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_.val.programmaticStreamSerializationAllowed = early ? 1 : 0;
    config_.gridDim = dim3(1);
    config_.blockDim = dim3(256);
    config_.stream = stream;
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_{};
};
void perhaps(const PerhapsEarly& launch, float* data, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(launch.get(), consume_perhaps, static_cast<const float*>(data), out);
}
class SwitchedOff {
 public:
  explicit SwitchedOff(cudaStream_t stream) {
    attribute_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_.val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = dim3(1);
    config_.blockDim = dim3(256);
    config_.stream = stream;
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  void in_order() { config_.numAttrs = 0; }
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_{};
};
void switched_off(const SwitchedOff& launch, float* data, float* out, cudaStream_t stream) {
  produce<<<1, 256, 0, stream>>>(data);
  cudaLaunchKernelEx(launch.get(), consume_switched_off, static_cast<const float*>(data), out);
}
