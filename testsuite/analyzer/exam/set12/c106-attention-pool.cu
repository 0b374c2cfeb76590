// Attention pooling over variable-length documents.
//
// The pooling kernel is launched with programmatic serialization: it loads the
// value weights while the score kernel is still draining.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDART(x)                                                                                  \
  do {                                                                                             \
    cudaError_t r = (x);                                                                           \
    if (r != cudaSuccess) throw std::runtime_error(std::string(#x " : ") + cudaGetErrorString(r)); \
  } while (0)

constexpr int kDim = 128;
constexpr int kTokens = 256;

__global__ void score_kernel(const float* tokens, const float* query, float* scores) {
  const float* row = tokens + (static_cast<size_t>(blockIdx.x) * kTokens + threadIdx.x) * kDim;
  float s = 0.0f;
  for (int d = 0; d < kDim; ++d) s += row[d] * query[d];
  scores[blockIdx.x * kTokens + threadIdx.x] = expf(s * rsqrtf(static_cast<float>(kDim)));
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void pool_kernel(const float* tokens, const float* scores, const float* value_scale, float* pooled) {
  __shared__ float scale[kDim];
  scale[threadIdx.x] = value_scale[threadIdx.x];
  __syncthreads();

  cudaGridDependencySynchronize();
  const float* s = scores + blockIdx.x * kTokens;
  const float* doc = tokens + static_cast<size_t>(blockIdx.x) * kTokens * kDim;
  float total = 0.0f, value = 0.0f;
  for (int t = 0; t < kTokens; ++t) {
    total += s[t];
    value += s[t] * doc[static_cast<size_t>(t) * kDim + threadIdx.x];
  }
  pooled[blockIdx.x * kDim + threadIdx.x] = scale[threadIdx.x] * value / total;
}

template <class... Params, class... Args>
void launch_dependent(void (*kernel)(Params...), int blocks, int threads, cudaStream_t stream, Args... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDART(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...));
}

class AttentionPool {
 public:
  AttentionPool(const std::vector<float>& query, const std::vector<float>& value_scale, int max_documents) {
    CUDART(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDART(cudaMalloc(reinterpret_cast<void**>(&query_), kDim * sizeof(float)));
    CUDART(cudaMalloc(reinterpret_cast<void**>(&value_scale_), kDim * sizeof(float)));
    CUDART(cudaMalloc(reinterpret_cast<void**>(&scores_), static_cast<size_t>(max_documents) * kTokens * sizeof(float)));
    CUDART(cudaMemcpyAsync(query_, query.data(), kDim * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDART(cudaMemcpyAsync(value_scale_, value_scale.data(), kDim * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDART(cudaStreamSynchronize(stream_));
  }
  ~AttentionPool() {
    cudaStreamSynchronize(stream_);
    cudaFree(query_);
    cudaFree(value_scale_);
    cudaFree(scores_);
    cudaStreamDestroy(stream_);
  }
  AttentionPool(const AttentionPool&) = delete;
  AttentionPool& operator=(const AttentionPool&) = delete;

  cudaStream_t stream() const { return stream_; }

  void run(const float* tokens, int documents, float* pooled) {
    score_kernel<<<documents, kTokens, 0, stream_>>>(tokens, query_, scores_);
    CUDART(cudaGetLastError());
    launch_dependent(pool_kernel, documents, kDim, stream_, tokens, scores_, value_scale_, pooled);
  }

 private:
  cudaStream_t stream_ = nullptr;
  float *query_ = nullptr, *value_scale_ = nullptr, *scores_ = nullptr;
};

int main() {
  constexpr int kDocuments = 512;
  std::vector<float> query(kDim), scale(kDim, 1.0f), tokens(static_cast<size_t>(kDocuments) * kTokens * kDim);
  for (int d = 0; d < kDim; ++d) query[d] = std::sin(0.1f * d);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<float>(i % 97) / 97.0f;

  AttentionPool pool(query, scale, kDocuments);
  float *device_tokens = nullptr, *pooled = nullptr;
  CUDART(cudaMalloc(reinterpret_cast<void**>(&device_tokens), tokens.size() * sizeof(float)));
  CUDART(cudaMalloc(reinterpret_cast<void**>(&pooled), kDocuments * kDim * sizeof(float)));
  CUDART(cudaMemcpyAsync(device_tokens, tokens.data(), tokens.size() * sizeof(float), cudaMemcpyHostToDevice, pool.stream()));
  for (int repeat = 0; repeat < 10; ++repeat) pool.run(device_tokens, kDocuments, pooled);

  std::vector<float> result(kDocuments * kDim);
  CUDART(cudaMemcpyAsync(result.data(), pooled, result.size() * sizeof(float), cudaMemcpyDeviceToHost, pool.stream()));
  CUDART(cudaStreamSynchronize(pool.stream()));
  std::printf("first pooled value %.6f\n", result[0]);
  CUDART(cudaFree(device_tokens));
  CUDART(cudaFree(pooled));
  return 0;
}
