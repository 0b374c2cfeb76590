// Small transformer block, decoded token by token: three kernels in a chain of programmatic launches.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tinydec {

inline void hold(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

constexpr int kDim = 512;

// Weights are uploaded once, before the first token; kernels may read them in their prologue.
__global__ void normalizeToken(const float* hidden, const float* gain, float* normed) {
  __shared__ float part[kDim];
  const int i = threadIdx.x;
  const float g = gain[i];
  cudaGridDependencySynchronize();
  const float v = hidden[i];
  part[i] = v * v;
  __syncthreads();
  for (int s = kDim / 2; s > 0; s /= 2) {
    if (i < s) part[i] += part[i + s];
    __syncthreads();
  }
  normed[i] = v * g * rsqrtf(part[0] / kDim + 1e-6f);
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void projectToken(const float* weight, const float* normed, float* projected) {
  __shared__ float row[kDim];
  const int r = blockIdx.x, i = threadIdx.x;
  const float w = weight[r * kDim + i];
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  row[i] = w * normed[i];
  __syncthreads();
  for (int s = kDim / 2; s > 0; s /= 2) {
    if (i < s) row[i] += row[i + s];
    __syncthreads();
  }
  if (i == 0) projected[r] = row[0];
}

// Reads the results of both kernels before it: projectToken has waited for normalizeToken.
__global__ void residualGate(const float* normed, const float* projected, float* hidden, float* trace, int token) {
  const int i = threadIdx.x;
  cudaGridDependencySynchronize();
  const float h = hidden[i] + projected[i] / (1.f + expf(-normed[i]));
  hidden[i] = h;
  if (i == 0) trace[token] = h;
}

template <typename... Params, typename... Args>
void chain(cudaStream_t stream, dim3 grid, void (*kernel)(Params...), Args&&... args) {
  cudaLaunchAttribute attr = {};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(kDim);
  config.stream = stream;
  config.attrs = &attr;
  config.numAttrs = 1;
  hold(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...), "chain");
}

class TokenDecoder {
 public:
  // `trace` is one value per token in managed memory; it is readable after decode().
  TokenDecoder(const std::vector<float>& weight, const std::vector<float>& gain, int maxTokens)
      : maxTokens_(maxTokens) {
    hold(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    hold(cudaMalloc(&weight_, sizeof(float) * kDim * kDim), "weight");
    hold(cudaMalloc(&gain_, sizeof(float) * kDim), "gain");
    hold(cudaMalloc(&hidden_, sizeof(float) * kDim), "hidden");
    hold(cudaMalloc(&normed_, sizeof(float) * kDim), "normed");
    hold(cudaMalloc(&projected_, sizeof(float) * kDim), "projected");
    hold(cudaMallocManaged(&trace_, sizeof(float) * maxTokens), "trace");
    hold(cudaMemcpyAsync(weight_, weight.data(), sizeof(float) * kDim * kDim, cudaMemcpyHostToDevice, stream_), "weight");
    hold(cudaMemcpyAsync(gain_, gain.data(), sizeof(float) * kDim, cudaMemcpyHostToDevice, stream_), "gain");
    hold(cudaStreamSynchronize(stream_), "upload");
  }
  ~TokenDecoder() {
    cudaStreamSynchronize(stream_);
    for (float* p : {weight_, gain_, hidden_, normed_, projected_, trace_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  TokenDecoder(const TokenDecoder&) = delete;
  TokenDecoder& operator=(const TokenDecoder&) = delete;

  const float* decode(const std::vector<float>& start, int tokens) {
    if (static_cast<int>(start.size()) != kDim || tokens > maxTokens_)
      throw std::invalid_argument("decode");
    hold(cudaMemcpyAsync(hidden_, start.data(), sizeof(float) * kDim, cudaMemcpyHostToDevice, stream_), "start");
    for (int t = 0; t < tokens; ++t) {
      chain(stream_, dim3(1), normalizeToken, hidden_, gain_, normed_);
      chain(stream_, dim3(kDim), projectToken, weight_, normed_, projected_);
      chain(stream_, dim3(1), residualGate, normed_, projected_, hidden_, trace_, t);
    }
    hold(cudaStreamSynchronize(stream_), "decode");
    return trace_;
  }

 private:
  int maxTokens_;
  cudaStream_t stream_ = nullptr;
  float* weight_ = nullptr;
  float* gain_ = nullptr;
  float* hidden_ = nullptr;
  float* normed_ = nullptr;
  float* projected_ = nullptr;
  float* trace_ = nullptr;
};

}  // namespace tinydec
