// Catalogue embeddings shared by all serving threads. Whoever comes first uploads a shard in its stream; later users wait for
// that upload on the device.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace catalog {

inline void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void nearest(const float* shard, const float* query, float* best, int rows, int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float dot = 0.f;
  for (int d = 0; d < width; ++d) dot += shard[static_cast<size_t>(row) * width + d] * query[d];
  best[row] = dot;
}

class Shard {
 public:
  Shard(int rows, int width) : rows_(rows), width_(width) {
    check(cudaMallocHost(&source_, bytes()));
    std::fill_n(source_, static_cast<std::size_t>(rows) * width, 0.25f);
    check(cudaMalloc(&device_, bytes()));
    check(cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming));
  }
  ~Shard() {
    cudaEventSynchronize(loaded_);
    cudaEventDestroy(loaded_);
    cudaFree(device_);
    cudaFreeHost(source_);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  const float* on(cudaStream_t stream) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!queued_) {
        load(stream);
        queued_ = true;
      }
    }
    check(cudaStreamWaitEvent(stream, loaded_, 0));
    return device_;
  }

  int rows() const { return rows_; }
  int width() const { return width_; }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(rows_) * width_ * sizeof(float); }

  void load(cudaStream_t stream) {
    check(cudaMemcpyAsync(device_, source_, bytes(), cudaMemcpyHostToDevice, stream));
    check(cudaEventRecord(loaded_, stream));
  }

  int rows_;
  int width_;
  std::mutex mutex_;
  bool queued_ = false;
  float* source_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t loaded_ = nullptr;
};

class Server {
 public:
  explicit Server(Shard& shard) : shard_(shard) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaMalloc(&query_, shard.width() * sizeof(float)));
    check(cudaMalloc(&best_, shard.rows() * sizeof(float)));
    check(cudaMallocHost(&answer_, shard.rows() * sizeof(float)));
    check(cudaMemsetAsync(query_, 0, shard.width() * sizeof(float), stream_));
  }
  ~Server() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(answer_);
    cudaFree(best_);
    cudaFree(query_);
    cudaStreamDestroy(stream_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  float answer() {
    const float* rows = shard_.on(stream_);
    nearest<<<(shard_.rows() + 127) / 128, 128, 0, stream_>>>(rows, query_, best_, shard_.rows(), shard_.width());
    check(cudaGetLastError());
    check(cudaMemcpyAsync(answer_, best_, shard_.rows() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    return *std::max_element(answer_, answer_ + shard_.rows());
  }

 private:
  Shard& shard_;
  cudaStream_t stream_ = nullptr;
  float* query_ = nullptr;
  float* best_ = nullptr;
  float* answer_ = nullptr;
};

}  // namespace catalog

int main() {
  catalog::Shard shard(1 << 16, 96);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&shard] {
      catalog::Server server(shard);
      for (int request = 0; request < 100; ++request) server.answer();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::puts("served");
  return 0;
}
