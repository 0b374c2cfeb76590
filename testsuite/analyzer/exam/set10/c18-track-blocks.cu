// Scratch blocks of a multi-object tracker. A block goes back to the cache together with an
// event behind its last use; whoever takes it next waits for that event on its own stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace track {

inline void guard(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Block {
  void* data = nullptr;
  std::size_t bytes = 0;
  cudaEvent_t released = nullptr;
};

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() {
    for (auto& [bytes, block] : idle_) {
      cudaEventSynchronize(block.released);
      cudaEventDestroy(block.released);
      cudaFree(block.data);
    }
  }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  Block take(std::size_t bytes, cudaStream_t stream) {
    Block block = pop(bytes);
    if (block.data) {
      guard(cudaStreamWaitEvent(stream, block.released, 0));
      return block;
    }
    block.bytes = bytes;
    guard(cudaEventCreateWithFlags(&block.released, cudaEventDisableTiming));
    guard(cudaMalloc(&block.data, bytes));
    return block;
  }

  // `stream` is the only stream that has used the block since it was taken.
  void give(const Block& block, cudaStream_t stream) {
    guard(cudaEventRecord(block.released, stream));
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.emplace(block.bytes, block);
  }

 private:
  Block pop(std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto it = idle_.lower_bound(bytes);
    if (it == idle_.end()) return {};
    const Block block = it->second;
    idle_.erase(it);
    return block;
  }

  std::mutex mutex_;
  std::multimap<std::size_t, Block> idle_;
};

template <typename T>
class Scratch {
 public:
  Scratch(BlockCache& cache, std::size_t n, cudaStream_t stream)
      : cache_(cache), stream_(stream), block_(cache.take(n * sizeof(T), stream)) {}
  ~Scratch() { cache_.give(block_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return static_cast<T*>(block_.data); }

 private:
  BlockCache& cache_;
  cudaStream_t stream_;
  Block block_;
};

struct Box {
  float x0, y0, x1, y1;
};

__global__ void overlap(const Box* __restrict__ tracks, const Box* __restrict__ found, int n, int m,
                        float* __restrict__ cost) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m) return;
  const Box a = tracks[i / m], b = found[i % m];
  const float w = fmaxf(0.f, fminf(a.x1, b.x1) - fmaxf(a.x0, b.x0));
  const float h = fmaxf(0.f, fminf(a.y1, b.y1) - fmaxf(a.y0, b.y0));
  cost[i] = 1.f - w * h / fmaxf((a.x1 - a.x0) * (a.y1 - a.y0), 1e-6f);
}

__global__ void best_match(const float* __restrict__ cost, int n, int m, int* __restrict__ match) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int best = -1;
  float lowest = 0.7f;
  for (int j = 0; j < m; ++j)
    if (cost[i * m + j] < lowest) {
      lowest = cost[i * m + j];
      best = j;
    }
  match[i] = best;
}

// One camera with a stream that lives for as long as the camera is connected.
class Camera {
 public:
  explicit Camera(BlockCache& cache) : cache_(cache) {
    guard(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Camera() { cudaStreamDestroy(stream_); }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  // Device pointers of the caller, in use on stream() only.
  void associate(const Box* tracks, int n, const Box* found, int m, int* match) {
    Scratch<float> cost(cache_, static_cast<std::size_t>(n) * m, stream_);
    overlap<<<(n * m + 127) / 128, 128, 0, stream_>>>(tracks, found, n, m, cost.get());
    best_match<<<(n + 127) / 128, 128, 0, stream_>>>(cost.get(), n, m, match);
    guard(cudaGetLastError());
  }

  cudaStream_t stream() const { return stream_; }

 private:
  BlockCache& cache_;
  cudaStream_t stream_ = nullptr;
};

class Rig {
 public:
  Camera& connect() {
    cameras_.push_back(std::make_unique<Camera>(cache_));
    return *cameras_.back();
  }
  void disconnect() { cameras_.pop_back(); }

 private:
  BlockCache cache_;
  std::vector<std::unique_ptr<Camera>> cameras_;
};

}  // namespace track
