// Weighted index sampling on a resources handle.  Modelled on NVIDIA/raft#1094.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define RAFT_CUDA_TRY(call)                                                                        \
  do {                                                                                             \
    cudaError_t status_ = (call);                                                                  \
    if (status_ != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));        \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

namespace raft {

class resources {
 public:
  resources() { RAFT_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~resources() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  resources(resources const&) = delete;
  cudaStream_t get_stream() const { return stream_; }
  void sync() const { RAFT_CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
};

template <typename T>
class device_buffer {
 public:
  explicit device_buffer(size_t n) : size_(n) { RAFT_CUDA_TRY(cudaMalloc(&data_, n * sizeof(T))); }
  ~device_buffer() { cudaFree(data_); }
  device_buffer(device_buffer const&) = delete;
  T* data() { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_{};
  size_t size_{};
};

__global__ void make_weights(float* w, int n, int round, int sweeps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 1.0f + (i * 2654435761u + round) % 97;
  for (int k = 0; k < sweeps; ++k) v = v * 0.9999f + 0.01f;
  w[i] = v;
}

__global__ void search_cdf(const float* cdf, int n, int* out, int m, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  unsigned h = (i + 1) * 2246822519u ^ seed * 3266489917u;
  float target = cdf[n - 1] * ((h >> 8) * (1.0f / 16777216.0f));
  int lo = 0, hi = n - 1;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (cdf[mid] < target) lo = mid + 1; else hi = mid;
  }
  out[i] = lo;
}

namespace random {

class discrete_sampler {
 public:
  discrete_sampler(resources const& res, int n) : res_(res), n_(n), cdf_(n), temp_(temp_bytes(n)) {}

  void operator()(float* weights, int* out, int m, unsigned seed) {
    auto stream  = res_.get_stream();
    size_t bytes = temp_.size();
#ifdef FIXED
    RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(temp_.data(), bytes, weights, cdf_.data(), n_, stream));
#else
    RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(temp_.data(), bytes, weights, cdf_.data(), n_));
#endif
    search_cdf<<<(m + 255) / 256, 256, 0, stream>>>(cdf_.data(), n_, out, m, seed);
    RAFT_CUDA_TRY(cudaPeekAtLastError());
  }

 private:
  static size_t temp_bytes(int n) {
    size_t bytes = 0;
    RAFT_CUDA_TRY(cub::DeviceScan::InclusiveSum(nullptr, bytes, (float*)nullptr, (float*)nullptr, n));
    return bytes;
  }
  resources const& res_;
  int n_;
  device_buffer<float> cdf_;
  device_buffer<char> temp_;
};

}  // namespace random
}  // namespace raft

int main() {
  constexpr int n = 1 << 18, m = 1 << 16;
  raft::resources res;
  raft::device_buffer<float> weights(n);
  raft::device_buffer<int> picked(m);
  raft::random::discrete_sampler sample(res, n);
  std::vector<int> host(m);
  for (int round = 0; round < 4; ++round) {
    raft::make_weights<<<n / 256, 256, 0, res.get_stream()>>>(weights.data(), n, round, 20000);
    sample(weights.data(), picked.data(), m, 1234u + round);
  }
  RAFT_CUDA_TRY(cudaDeviceSynchronize());
  RAFT_CUDA_TRY(cudaMemcpy(host.data(), picked.data(), m * sizeof(int), cudaMemcpyDeviceToHost));
  long long sum = 0;
  for (int v : host) sum += v;
  std::printf("mean index %.0f of %d\n", double(sum) / m, n);
  RAFT_CUDA_TRY(cudaGetLastError());
  return 0;
}
