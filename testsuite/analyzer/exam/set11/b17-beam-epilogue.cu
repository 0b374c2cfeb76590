// Frame-level acoustic scores: projection, optional bias, normalisation. The
// three kernels of a frame are launched with programmatic serialization.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace am {

inline void verify(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}

__global__ void project(const float* features, const float* weights, int in, int out, float* logits) {
  cudaGridDependencySynchronize();
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o < out) {
    float sum = 0.f;
    for (int i = 0; i < in; ++i) sum += weights[static_cast<std::size_t>(o) * in + i] * features[i];
    logits[o] = sum;
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

template <bool kHasBias>
__global__ void activate(const float* logits, const float* bias, int n, float scale, float* activated) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float offset = 0.f;
  if constexpr (kHasBias) {
    if (i < n) offset = bias[i];
    cudaGridDependencySynchronize();
  }
  if (i < n) {
    const float x = scale * (logits[i] + offset);
    activated[i] = x / (1.f + expf(-x));
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void normalise(const float* activated, int n, float* posteriors) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0.f;
  __syncthreads();
  cudaGridDependencySynchronize();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&total, expf(activated[i]));
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) posteriors[i] = expf(activated[i]) / total;
}

/// Launch configuration with the attribute for early start.
class EarlyStart {
 public:
  EarlyStart(int blocks, int threads, cudaStream_t stream) {
    attribute_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_.val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = dim3(blocks);
    config_.blockDim = dim3(threads);
    config_.stream = stream;
    config_.attrs = &attribute_;
    config_.numAttrs = 1;
  }
  EarlyStart(const EarlyStart&) = delete;
  EarlyStart& operator=(const EarlyStart&) = delete;
  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  cudaLaunchAttribute attribute_{};
  cudaLaunchConfig_t config_{};
};

class ScoreHead {
 public:
  ScoreHead(const float* weights, const float* bias, int in, int out)
      : weights_(weights), bias_(bias), in_(in), out_(out) {
    verify(cudaMalloc(reinterpret_cast<void**>(&logits_), sizeof(float) * out_), "logits");
    verify(cudaMalloc(reinterpret_cast<void**>(&activated_), sizeof(float) * out_), "activated");
  }
  ~ScoreHead() {
    cudaDeviceSynchronize();
    cudaFree(logits_);
    cudaFree(activated_);
  }
  ScoreHead(const ScoreHead&) = delete;
  ScoreHead& operator=(const ScoreHead&) = delete;

  /// Posteriors of one frame, in stream order.
  void score(const float* features, float* posteriors, cudaStream_t stream) {
    const EarlyStart wide(blocks(), kThreads, stream);
    verify(cudaLaunchKernelEx(wide.get(), project, features, weights_, in_, out_, logits_), "project");
    launch_activation(wide);
    const EarlyStart single(1, kThreads, stream);
    verify(cudaLaunchKernelEx(single.get(), normalise, static_cast<const float*>(activated_), out_, posteriors),
           "normalise");
  }

 private:
  static constexpr int kThreads = 128;
  int blocks() const { return (out_ + kThreads - 1) / kThreads; }

  void launch_activation(const EarlyStart& launch) {
    const float* logits = logits_;
    const float scale = 0.125f;
    if (bias_) {
      verify(cudaLaunchKernelEx(launch.get(), activate<true>, logits, bias_, out_, scale, activated_), "activate");
    } else {
      verify(cudaLaunchKernelEx(launch.get(), activate<false>, logits, bias_, out_, scale, activated_), "activate");
    }
  }

  const float* weights_;
  const float* bias_;
  int in_, out_;
  float* logits_ = nullptr;
  float* activated_ = nullptr;
};

/// Scores an utterance with the bias-free head.
void score_utterance(const float* features, const float* weights, int frames, int in, int out, float* posteriors) {
  cudaStream_t stream = nullptr;
  verify(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  ScoreHead head(weights, nullptr, in, out);
  for (int f = 0; f < frames; ++f) head.score(features + f * in, posteriors + f * out, stream);
  verify(cudaStreamSynchronize(stream), "sync");
  verify(cudaStreamDestroy(stream), "destroy");
}

}  // namespace am
