// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check dependent-launch-race %s
// RUN: %check dependent-launch-race %s -- -DFIXED
//
// A helper launches programmatically or not, as its caller says: by an argument, or by a part of a structure.
#include <cuda_runtime.h>

#ifdef FIXED
constexpr bool kOverlap = false;
#else
constexpr bool kOverlap = true;
#endif

__global__ void find_scale(const float* in, float* scale) { scale[threadIdx.x] = in[threadIdx.x]; }

__global__ void apply(const float* scale, const float* in, float* out) {
  const float by = scale[threadIdx.x];
// CHECK-MESSAGES: :[[@LINE-1]]:20: warning: kernel 'apply' on stream 'stream' may read 'scale' while kernel 'find_scale' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
  cudaGridDependencySynchronize();
  out[threadIdx.x] = by * in[threadIdx.x];
}

__global__ void apply_half(const float* scale, const float* in, float* out) {
  const float by = scale[threadIdx.x] / 2;
// CHECK-MESSAGES: :[[@LINE-1]]:20: warning: kernel 'apply_half' on stream 'second.where' may read 'scale' while kernel 'find_scale' in front of it still writes it: its launch lets the two overlap, and it does so before it waits [streamsan-dependent-launch-race]
  cudaGridDependencySynchronize();
  out[threadIdx.x] = by * in[threadIdx.x];
}

template <typename... Params, typename... Args>
void launch(bool overlap, cudaStream_t stream, void (*kernel)(Params...), Args... args) {
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = overlap;
  cudaLaunchConfig_t config = {};
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
}

struct Settings {
  bool overlap;
  cudaStream_t where;
};

template <typename... Params, typename... Args>
void launch_by(const Settings& settings, void (*kernel)(Params...), Args... args) {
  cudaLaunchAttribute attribute[1];
  cudaLaunchConfig_t config = {};
  config.stream = settings.where;
  config.attrs = attribute;
  config.numAttrs = 0;
  if (settings.overlap) {
    attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[0].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = 1;
  }
  cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...);
}

void by_argument(const float* in, float* scale, float* out, cudaStream_t stream) {
  launch(false, stream, find_scale, in, scale);
  launch(kOverlap, stream, apply, scale, in, out);
}

void by_structure(const float* in, float* scale, float* out, cudaStream_t stream) {
  const Settings first = {false, stream};
  const Settings second = {kOverlap, stream};
  launch_by(first, find_scale, in, scale);
  launch_by(second, apply_half, scale, in, out);
}

// Nobody knows.
void by_callers(bool overlap, const float* in, float* scale, float* out, cudaStream_t stream) {
  launch(false, stream, find_scale, in, scale);
  launch(overlap, stream, apply, scale, in, out);
}

// Not constant: it may be changed by then.
void by_variable(const float* in, float* scale, float* out, cudaStream_t stream, bool overlap) {
  Settings settings = {true, stream};
  settings.overlap = overlap;
  launch_by(settings, find_scale, in, scale);
  launch_by(settings, apply_half, scale, in, out);
}
