#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

// Conjunction screening of satellites: result columns are spilled to pinned host memory
// as soon as they are complete, their device memory is recycled.
namespace screening {

inline void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Recycles blocks in the order of their home stream. A user of a block on another stream is
// told by add_user(): the home stream then waits for it when the block is released.
class BlockPool {
 public:
  struct Block {
    void* data = nullptr;
    size_t bytes = 0;
    cudaStream_t home = nullptr;
    std::vector<cudaStream_t> users;
  };

  ~BlockPool() {
    cudaDeviceSynchronize();
    for (auto& entry : free_)
      for (auto& b : entry.second) cudaFree(b->data);
  }

  std::unique_ptr<Block> acquire(size_t bytes, cudaStream_t home) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& list = free_[home];
    for (auto it = list.begin(); it != list.end(); ++it) {
      if ((*it)->bytes < bytes) continue;
      std::unique_ptr<Block> b = std::move(*it);
      list.erase(it);
      return b;
    }
    auto b = std::make_unique<Block>();
    b->bytes = bytes;
    b->home = home;
    cu(cudaMalloc(&b->data, bytes));
    return b;
  }

  void add_user(Block& block, cudaStream_t user) { block.users.push_back(user); }

  void release(std::unique_ptr<Block> block) {
    for (cudaStream_t user : block->users) {
      cudaEvent_t done;
      cu(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
      cu(cudaEventRecord(done, user));
      cu(cudaStreamWaitEvent(block->home, done, 0));
      cu(cudaEventDestroy(done));
    }
    block->users.clear();
    std::lock_guard<std::mutex> lock(mutex_);
    free_[block->home].push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::map<cudaStream_t, std::vector<std::unique_ptr<Block>>> free_;
};

class Column {
 public:
  Column(BlockPool& pool, size_t count, cudaStream_t home) : pool_(pool), home_(home) { resize(count); }
  ~Column() { resize(0); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;

  void resize(size_t count) {
    if (block_) pool_.release(std::move(block_));
    count_ = count;
    if (count_) block_ = pool_.acquire(count_ * sizeof(float), home_);
  }

  void used_by(cudaStream_t stream) { pool_.add_user(*block_, stream); }
  float* data() const { return static_cast<float*>(block_->data); }
  size_t size() const { return count_; }

 private:
  BlockPool& pool_;
  cudaStream_t home_;
  size_t count_ = 0;
  std::unique_ptr<BlockPool::Block> block_;
};

__global__ void screen_kernel(const float3* a, const float3* b, float* miss, int n, float t) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float dx = a[i].x - b[i].x * cosf(t), dy = a[i].y - b[i].y * sinf(t), dz = a[i].z - b[i].z;
  miss[i] = sqrtf(dx * dx + dy * dy + dz * dz);
}

class SpillWriter {
 public:
  SpillWriter() {
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cu(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
  }
  ~SpillWriter() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(filled_);
    cudaStreamDestroy(stream_);
  }

  // Moves a column, complete on `producer`, to pinned memory and gives its block back.
  void spill(Column& column, float* pinned, cudaStream_t producer) {
    cu(cudaEventRecord(filled_, producer));
    cu(cudaStreamWaitEvent(stream_, filled_, 0));
    cu(cudaMemcpyAsync(pinned, column.data(), column.size() * sizeof(float),
                       cudaMemcpyDeviceToHost, stream_));
    column.resize(0);
  }

  void finish() { cu(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t filled_ = nullptr;
};

// Screens n pairs at every epoch; pinned holds epochs * n distances.
inline void screen(BlockPool& pool, const float3* a, const float3* b, int n, int epochs,
                   float* pinned, cudaStream_t compute) {
  SpillWriter writer;
  for (int e = 0; e < epochs; ++e) {
    Column miss(pool, n, compute);
    screen_kernel<<<(n + 255) / 256, 256, 0, compute>>>(a, b, miss.data(), n, 0.1f * e);
    cu(cudaGetLastError());
    writer.spill(miss, pinned + size_t(e) * n, compute);
  }
  writer.finish();
}

}  // namespace screening
