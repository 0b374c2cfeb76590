// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// The stream of a launch is a field that nobody sets: of a struct that says null of it, or of a configuration that is
// filled here, all but its stream.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime.h>
#include <torch/torch.h>

#include <utility>

__global__ void decay(float* soil, float rate) { soil[threadIdx.x] *= rate; }
__global__ void rain(float* soil, const float* clouds) { soil[threadIdx.x] += clouds[threadIdx.x]; }

struct Field {
  dim3 plots{1};
  unsigned rows = 32;
#ifdef FIXED
  cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
#else
  cudaStream_t stream = nullptr;
#endif
};
static Field measure(int plots) {
  Field field;
  field.plots = dim3(plots);
  return field;
}
void season(at::Tensor& soil, const at::Tensor& clouds) {
  const Field field = measure(4);
  rain<<<field.plots, field.rows, 0, field.stream>>>(soil.data_ptr<float>(), clouds.data_ptr<float>());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'rain' goes to the default stream, not to the current stream: 'field.stream' is never set [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: set 'field.stream' to the current stream; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-5]]:6: note: the current stream is what callers of 'season' work on with their tensors
}

void dry(float* soil, const float* clouds, cudaStream_t stream) {
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  cudaLaunchConfig_t how = {};
  how.gridDim = dim3(1);
  how.blockDim = dim3(32);
#ifdef FIXED
  how.stream = stream;
#endif
  cudaLaunchKernelEx(&how, decay, soil, 0.5f);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'decay' goes to the default stream, not to stream 'stream': 'how.stream' is never set [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: set 'how.stream' to stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-11]]:6: note: stream 'stream' is what 'dry' is given to work on
}

// Somebody sets it, in his own way; or asks whether somebody has; or says that it is null.
struct Assigned {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
static Assigned on(cudaStream_t stream) {
  Assigned result;
  result.stream = stream;
  return result;
}
void assigned(float* soil, const float* clouds, cudaStream_t stream) {
  const Assigned how = on(stream);
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
struct Listed {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
void listed(float* soil, const float* clouds, cudaStream_t stream) {
  const Listed how{64, stream};
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
struct Bound {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
void bound(float* soil, const float* clouds, cudaStream_t stream) {
  Bound how;
  auto& [rows, its] = how;
  its = stream;
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
struct Pointed {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
void pointed(float* soil, const float* clouds, cudaStream_t stream, cudaStream_t Pointed::*which) {
  Pointed how;
  how.*which = stream;
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
cudaStream_t Pointed::*where() { return &Pointed::stream; }
struct Asked {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
void asked(float* soil, const float* clouds, cudaStream_t stream, const Asked& how) {
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream ? how.stream : stream>>>(soil, 0.5f);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
struct Chosen {
  int rows = 32;
  cudaStream_t stream = nullptr;
};
void chosen(float* soil, const float* clouds, cudaStream_t stream) {
  Chosen how;
  how.stream = 0;
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  decay<<<1, how.rows, 0, how.stream>>>(soil, 0.5f);
}
void chosen_here(float* soil, const float* clouds, cudaStream_t stream) {
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  cudaLaunchConfig_t how = {};
  how.stream = nullptr;
  cudaLaunchKernelEx(&how, decay, soil, 0.5f);
}
void fill(cudaLaunchConfig_t* how, cudaStream_t stream);
void filled(float* soil, const float* clouds, cudaStream_t stream) {
  rain<<<1, 32, 0, stream>>>(soil, clouds);
  cudaLaunchConfig_t how = {};
  fill(&how, stream);
  cudaLaunchKernelEx(&how, decay, soil, 0.5f);
}
