// Risk engine: scenario buffers come from a pool that tracks the last use of each block.
#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace risk {

inline void enforce(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Blocks are handed out to any stream; the taking stream waits for the uses of the previous owner.
class ScenarioPool {
 public:
  explicit ScenarioPool(size_t block_bytes) : bytes_(block_bytes) {}
  ~ScenarioPool() {
    for (auto& b : blocks_) {
      cudaEventSynchronize(b->last_use);
      cudaFree(b->ptr);
      cudaEventDestroy(b->last_use);
    }
  }
  ScenarioPool(const ScenarioPool&) = delete;
  ScenarioPool& operator=(const ScenarioPool&) = delete;

  class Lease {
   public:
    Lease(Lease&& o) noexcept : pool_(std::exchange(o.pool_, nullptr)), index_(o.index_), ptr_(o.ptr_), stream_(o.stream_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_) pool_->give_back(index_, stream_);
    }
    float* data() const { return ptr_; }
    cudaStream_t stream() const { return stream_; }

    // Hands the block over to work on another stream; the lease ends there.
    void move_to(cudaStream_t next) {
      pool_->order(index_, stream_, next);
      stream_ = next;
    }

   private:
    friend class ScenarioPool;
    Lease(ScenarioPool* pool, size_t index, float* ptr, cudaStream_t stream)
        : pool_(pool), index_(index), ptr_(ptr), stream_(stream) {}
    ScenarioPool* pool_;
    size_t index_;
    float* ptr_;
    cudaStream_t stream_;
  };

  Lease lease(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) {
      auto b = std::make_unique<Block>();
      enforce(cudaMalloc(&b->ptr, bytes_), "scenario block");
      enforce(cudaEventCreateWithFlags(&b->last_use, cudaEventDisableTiming), "scenario event");
      blocks_.push_back(std::move(b));
      return Lease(this, blocks_.size() - 1, blocks_.back()->ptr, stream);
    }
    const size_t i = idle_.back();
    idle_.pop_back();
    enforce(cudaStreamWaitEvent(stream, blocks_[i]->last_use, 0), "wait for previous owner");
    return Lease(this, i, blocks_[i]->ptr, stream);
  }

 private:
  struct Block {
    float* ptr = nullptr;
    cudaEvent_t last_use = nullptr;
  };

  void order(size_t i, cudaStream_t from, cudaStream_t to) {
    std::lock_guard<std::mutex> lock(mutex_);
    enforce(cudaEventRecord(blocks_[i]->last_use, from), "record");
    enforce(cudaStreamWaitEvent(to, blocks_[i]->last_use, 0), "wait");
  }

  void give_back(size_t i, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    cudaEventRecord(blocks_[i]->last_use, stream);
    idle_.push_back(i);
  }

  size_t bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<size_t> idle_;
};

__global__ void simulate_paths(float* paths, float spot, float vol, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = seed ^ (i * 747796405u + 2891336453u);
  float x = spot;
  for (int t = 0; t < 252; ++t) {
    s = s * 1664525u + 1013904223u;
    x *= 1.f + vol * (float(s >> 8) / 8388608.f - 1.f);
  }
  paths[i] = x;
}

__global__ void accumulate_payoff(const float* paths, float strike, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, fmaxf(paths[i] - strike, 0.f));
}

class Pricer {
 public:
  Pricer(ScenarioPool& pool, int paths) : pool_(pool), n_(paths) {
    enforce(cudaStreamCreateWithFlags(&sim_, cudaStreamNonBlocking), "stream");
    enforce(cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking), "stream");
    enforce(cudaMalloc(&sum_, sizeof(float)), "sum");
    enforce(cudaMemsetAsync(sum_, 0, sizeof(float), reduce_), "memset");
  }
  ~Pricer() {
    cudaStreamSynchronize(sim_);
    cudaStreamSynchronize(reduce_);
    cudaFree(sum_);
    cudaStreamDestroy(reduce_);
    cudaStreamDestroy(sim_);
  }
  Pricer(const Pricer&) = delete;
  Pricer& operator=(const Pricer&) = delete;

  void scenario(float spot, float vol, float strike, unsigned seed) {
    ScenarioPool::Lease paths = pool_.lease(sim_);
    simulate_paths<<<(n_ + 255) / 256, 256, 0, sim_>>>(paths.data(), spot, vol, n_, seed);
    enforce(cudaGetLastError(), "simulate_paths");
    paths.move_to(reduce_);
    accumulate_payoff<<<(n_ + 255) / 256, 256, 0, paths.stream()>>>(paths.data(), strike, sum_, n_);
    enforce(cudaGetLastError(), "accumulate_payoff");
  }

  float total() {
    float host = 0;
    enforce(cudaMemcpyAsync(&host, sum_, sizeof host, cudaMemcpyDeviceToHost, reduce_), "download");
    enforce(cudaStreamSynchronize(reduce_), "download");
    return host;
  }

 private:
  ScenarioPool& pool_;
  int n_;
  cudaStream_t sim_ = nullptr, reduce_ = nullptr;
  float* sum_ = nullptr;
};

}  // namespace risk

float price_book(const std::vector<std::pair<float, float>>& book, int paths) {
  risk::ScenarioPool pool(size_t(paths) * sizeof(float));
  risk::Pricer calls(pool, paths), puts(pool, paths);
  unsigned seed = 1;
  for (const auto& [spot, vol] : book) {
    calls.scenario(spot, vol, spot * 1.05f, seed++);
    puts.scenario(spot, vol, spot * 0.95f, seed++);
  }
  return calls.total() - puts.total();
}
