// Standardises batches of mass spectra: zero mean and unit variance per
// spectrum, then a fixed per-bin response correction.
//
// The second kernel is launched early so that its prologue overlaps the tail
// of the first one.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDART(x)                                                                                \
  do {                                                                                           \
    cudaError_t r = (x);                                                                         \
    if (r != cudaSuccess) throw std::runtime_error(std::string(#x " : ") + cudaGetErrorString(r)); \
  } while (0)

constexpr int kBins = 2048;
constexpr int kThreads = 256;

struct Moments {
  float mean;
  float inv_sigma;
};

__device__ float block_sum(float v) {
  __shared__ float partial[kThreads / 32];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = v;
  __syncthreads();
  float total = 0.0f;
  for (int w = 0; w < kThreads / 32; ++w) total += partial[w];
  return total;
}

__global__ void moments_kernel(const float* spectra, Moments* moments) {
  const float* row = spectra + static_cast<size_t>(blockIdx.x) * kBins;
  float sum = 0.0f, squares = 0.0f;
  for (int b = threadIdx.x; b < kBins; b += kThreads) {
    sum += row[b];
    squares += row[b] * row[b];
  }
  cudaTriggerProgrammaticLaunchCompletion();
  sum = block_sum(sum);
  squares = block_sum(squares);
  if (threadIdx.x == 0) {
    const float mean = sum / kBins;
    moments[blockIdx.x] = {mean, rsqrtf(squares / kBins - mean * mean + 1e-6f)};
  }
}

__global__ void standardise_kernel(const float* spectra, const Moments* moments, const float* response, float* out) {
  __shared__ float correction[kBins];
  for (int b = threadIdx.x; b < kBins; b += kThreads) correction[b] = 1.0f / response[b];
  const Moments m = moments[blockIdx.x];
  __syncthreads();
  cudaGridDependencySynchronize();

  const size_t base = static_cast<size_t>(blockIdx.x) * kBins;
  for (int b = threadIdx.x; b < kBins; b += kThreads)
    out[base + b] = (spectra[base + b] - m.mean) * m.inv_sigma * correction[b];
}

class Standardiser {
 public:
  Standardiser(const std::vector<float>& response, int max_batch) {
    CUDART(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDART(cudaMalloc(reinterpret_cast<void**>(&response_), kBins * sizeof(float)));
    CUDART(cudaMalloc(reinterpret_cast<void**>(&moments_), max_batch * sizeof(Moments)));
    CUDART(cudaMemcpyAsync(response_, response.data(), kBins * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDART(cudaStreamSynchronize(stream_));
  }
  ~Standardiser() {
    cudaStreamSynchronize(stream_);
    cudaFree(response_);
    cudaFree(moments_);
    cudaStreamDestroy(stream_);
  }
  Standardiser(const Standardiser&) = delete;
  Standardiser& operator=(const Standardiser&) = delete;

  cudaStream_t stream() const { return stream_; }

  void run(const float* spectra, int batch, float* out) {
    moments_kernel<<<batch, kThreads, 0, stream_>>>(spectra, moments_);
    CUDART(cudaGetLastError());
    launch_overlapped(spectra, batch, out);
  }

 private:
  void launch_overlapped(const float* spectra, int batch, float* out) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(batch);
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDART(cudaLaunchKernelEx(&config, standardise_kernel, spectra, static_cast<const Moments*>(moments_),
                              static_cast<const float*>(response_), out));
  }

  cudaStream_t stream_ = nullptr;
  float* response_ = nullptr;
  Moments* moments_ = nullptr;
};

int main() {
  constexpr int kBatch = 4096;
  std::vector<float> response(kBins), host(static_cast<size_t>(kBatch) * kBins);
  for (int b = 0; b < kBins; ++b) response[b] = 0.5f + 0.5f * std::exp(-b / 800.0f);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>((i * 48271u) % 4001) * 0.25f;

  Standardiser standardiser(response, kBatch);
  const size_t bytes = host.size() * sizeof(float);
  float *spectra = nullptr, *out = nullptr;
  CUDART(cudaMalloc(reinterpret_cast<void**>(&spectra), bytes));
  CUDART(cudaMalloc(reinterpret_cast<void**>(&out), bytes));
  CUDART(cudaMemcpyAsync(spectra, host.data(), bytes, cudaMemcpyHostToDevice, standardiser.stream()));
  standardiser.run(spectra, kBatch, out);
  CUDART(cudaMemcpyAsync(host.data(), out, bytes, cudaMemcpyDeviceToHost, standardiser.stream()));
  CUDART(cudaStreamSynchronize(standardiser.stream()));

  double norm = 0.0;
  for (float v : host) norm += static_cast<double>(v) * v;
  std::printf("norm %.6f\n", norm / host.size());
  CUDART(cudaFree(spectra));
  CUDART(cudaFree(out));
  return 0;
}
