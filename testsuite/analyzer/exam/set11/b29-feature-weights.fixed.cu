// Loads the linear part of a ranking model. Parameters come from the parameter store as host vectors and go
// to the device through page-locked staging blocks that are kept for the next load.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#define RK_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void score(const float* features, const float* weights, const float* bias, const float* calibration,
                      float* out, int rows, int dims) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = bias[0];
  for (int d = 0; d < dims; ++d) s += features[r * dims + d] * weights[d];
  out[r] = calibration[0] / (1.f + expf(-calibration[1] * s));
}

class StagingBlocks {
 public:
  explicit StagingBlocks(std::size_t blockBytes) : blockBytes_(blockBytes) {}
  StagingBlocks(const StagingBlocks&) = delete;
  ~StagingBlocks() {
    for (void* p : all_) cudaFreeHost(p);
  }
  void* acquire() {
    if (free_.empty()) {
      void* p = nullptr;
      RK_CHECK(cudaMallocHost(&p, blockBytes_));
      all_.push_back(p);
      return p;
    }
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void release(void* p) { free_.push_back(p); }
  std::size_t blockBytes() const { return blockBytes_; }

 private:
  std::size_t blockBytes_;
  std::vector<void*> all_;
  std::vector<void*> free_;
};

// Host values in page-locked memory, for as long as the object lives.
class Staged {
 public:
  Staged(StagingBlocks& blocks, const std::vector<float>& values)
      : blocks_(&blocks), data_(static_cast<float*>(blocks.acquire())), size_(values.size()) {
    if (size_ * sizeof(float) > blocks.blockBytes()) std::abort();
    std::copy(values.begin(), values.end(), data_);
  }
  Staged(Staged&& o) noexcept : blocks_(o.blocks_), data_(std::exchange(o.data_, nullptr)), size_(o.size_) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    if (data_) blocks_->release(data_);
  }
  const float* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  StagingBlocks* blocks_;
  float* data_;
  std::size_t size_;
};

class DeviceVector {
 public:
  explicit DeviceVector(std::size_t capacity) {
    RK_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), capacity * sizeof(float)));
  }
  DeviceVector(const DeviceVector&) = delete;
  ~DeviceVector() { cudaFree(data_); }
  void assignAsync(const Staged& src, cudaStream_t stream) {
    RK_CHECK(cudaMemcpyAsync(data_, src.data(), src.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  }
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

using ParameterStore = std::map<std::string, std::vector<float>>;

class LinearRanker {
 public:
  LinearRanker(int dims, cudaStream_t stream)
      : dims_(dims), stream_(stream), staging_(dims * sizeof(float)), weights_(dims), bias_(1), calibration_(2) {}
  ~LinearRanker() { cudaStreamSynchronize(stream_); }

  void load(const ParameterStore& store) {
    const Staged weights = stage(store.at("weights"));
    const Staged bias = stage(store.at("bias"));
    const Staged calibration = stage(store.at("calibration"));
    weights_.assignAsync(weights, stream_);
    bias_.assignAsync(bias, stream_);
    calibration_.assignAsync(calibration, stream_);
    RK_CHECK(cudaStreamSynchronize(stream_));
  }

  void rank(const float* features, float* out, int rows) {
    score<<<(rows + 127) / 128, 128, 0, stream_>>>(features, weights_.get(), bias_.get(), calibration_.get(), out,
                                                   rows, dims_);
    RK_CHECK(cudaGetLastError());
  }

 private:
  Staged stage(const std::vector<float>& values) { return Staged(staging_, values); }

  int dims_;
  cudaStream_t stream_;
  StagingBlocks staging_;
  DeviceVector weights_, bias_, calibration_;
};

int main() {
  constexpr int kDims = 4096, kRows = 8192;
  ParameterStore store;
  store["weights"] = std::vector<float>(kDims, 0.01f);
  store["bias"] = {-1.5f};
  store["calibration"] = {1.f, 0.7f};

  cudaStream_t stream = nullptr;
  RK_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float *features = nullptr, *scores = nullptr;
  RK_CHECK(cudaMalloc(reinterpret_cast<void**>(&features), sizeof(float) * kRows * kDims));
  RK_CHECK(cudaMalloc(reinterpret_cast<void**>(&scores), sizeof(float) * kRows));
  RK_CHECK(cudaMemsetAsync(features, 0, sizeof(float) * kRows * kDims, stream));
  std::vector<float> result(kRows);
  {
    LinearRanker ranker(kDims, stream);
    ranker.load(store);
    ranker.rank(features, scores, kRows);
    RK_CHECK(cudaMemcpyAsync(result.data(), scores, sizeof(float) * kRows, cudaMemcpyDeviceToHost, stream));
    RK_CHECK(cudaStreamSynchronize(stream));
  }
  std::printf("score of the first item %.4f\n", result[0]);
  cudaFree(features);
  cudaFree(scores);
  cudaStreamDestroy(stream);
}
