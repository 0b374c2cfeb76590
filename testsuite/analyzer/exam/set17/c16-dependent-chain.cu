// Three small layers as a chain of programmatic dependent launches. Weights do not change, so
// every kernel fetches its own before it waits for its predecessor. Needs sm_90.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define CHAIN_CHECK(call)                                                             \
  do {                                                                                \
    const cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess)                                                            \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));     \
  } while (0)

namespace chain {

constexpr int kWidth = 128;
constexpr int kLayers = 3;

struct WeightRow {
  float w[kWidth];
  __device__ void fetch(const float* matrix, int row) {
    for (int i = 0; i < kWidth; ++i) w[i] = matrix[row * kWidth + i];
  }
  __device__ float dot(const float* x) const {
    float s = 0.f;
    for (int i = 0; i < kWidth; ++i) s += w[i] * x[i];
    return s;
  }
};

// One thread per output. `out` may be what the layer before the previous one has read.
__global__ void __launch_bounds__(kWidth)
layer(const float* weights, const float* in, float* out, bool lastLayer) {
  const int sample = blockIdx.x;
  WeightRow row;
  row.fetch(weights, threadIdx.x);
  if (!lastLayer) cudaTriggerProgrammaticLaunchCompletion();

  cudaGridDependencySynchronize();
  __shared__ float x[kWidth];
  x[threadIdx.x] = in[sample * kWidth + threadIdx.x];
  __syncthreads();
  out[sample * kWidth + threadIdx.x] = fmaxf(row.dot(x), 0.f);
}

class Perceptron {
 public:
  Perceptron(const std::array<std::vector<float>, kLayers>& weights, int maxSamples)
      : maxSamples_(maxSamples) {
    CHAIN_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int l = 0; l < kLayers; ++l) {
      if (weights[l].size() != size_t(kWidth) * kWidth) throw std::invalid_argument("weights");
      allocate(&weights_[l], kWidth * kWidth);
      CHAIN_CHECK(cudaMemcpyAsync(weights_[l], weights[l].data(), weights[l].size() * sizeof(float),
                                  cudaMemcpyHostToDevice, stream_));
    }
    for (float** p : {&a_, &b_}) allocate(p, maxSamples_ * kWidth);
    CHAIN_CHECK(cudaStreamSynchronize(stream_));
  }
  Perceptron(const Perceptron&) = delete;
  ~Perceptron() {
    cudaStreamSynchronize(stream_);
    for (float* p : weights_) cudaFree(p);
    cudaFree(a_);
    cudaFree(b_);
    cudaStreamDestroy(stream_);
  }

  std::vector<float> infer(const std::vector<float>& batch) {
    const int samples = static_cast<int>(batch.size() / kWidth);
    if (samples == 0 || samples > maxSamples_) throw std::length_error("batch");
    const size_t bytes = size_t(samples) * kWidth * sizeof(float);
    CHAIN_CHECK(cudaMemcpyAsync(a_, batch.data(), bytes, cudaMemcpyHostToDevice, stream_));
    const float* in = a_;
    float* out = b_;
    for (int l = 0; l < kLayers; ++l) {
      // The first layer follows a copy: an ordinary launch, which waits for all of it.
      enqueue(l, samples, in, out, /*dependent=*/l > 0);
      in = out;
      out = out == b_ ? a_ : b_;
    }
    std::vector<float> result(size_t(samples) * kWidth);
    CHAIN_CHECK(cudaMemcpyAsync(result.data(), in, bytes, cudaMemcpyDeviceToHost, stream_));
    CHAIN_CHECK(cudaStreamSynchronize(stream_));
    return result;
  }

 private:
  static void allocate(float** p, size_t n) {
    CHAIN_CHECK(cudaMalloc(reinterpret_cast<void**>(p), n * sizeof(float)));
  }

  void enqueue(int l, int samples, const float* in, float* out, bool dependent) {
    cudaLaunchAttribute attr = {};
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = dependent ? 1 : 0;
    cudaLaunchConfig_t cfg = {};
    cfg.gridDim = dim3(samples);
    cfg.blockDim = dim3(kWidth);
    cfg.stream = stream_;
    cfg.attrs = &attr;
    cfg.numAttrs = 1;
    CHAIN_CHECK(cudaLaunchKernelEx(&cfg, layer, static_cast<const float*>(weights_[l]), in, out,
                                   l + 1 == kLayers));
  }

  int maxSamples_;
  cudaStream_t stream_ = nullptr;
  std::array<float*, kLayers> weights_{};
  float *a_ = nullptr, *b_ = nullptr;
};

}  // namespace chain
