// Seed extension for short reads. Device memory comes from an arena of equal
// blocks; scores travel to the host on a copy stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(e)                                                                  \
  do {                                                                         \
    auto rc_ = (e);                                                            \
    if (rc_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(rc_)); \
      std::exit(2);                                                            \
    }                                                                          \
  } while (0)

class BlockArena {
 public:
  class Block {
   public:
    Block(BlockArena* arena, void* p) : arena_(arena), p_(p) {}
    Block(Block&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)), p_(other.p_) {}
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    Block& operator=(Block&&) = delete;
    ~Block() {
      if (arena_) arena_->give_back(p_);
    }
    template <typename T>
    T* as() const {
      return static_cast<T*>(p_);
    }

   private:
    BlockArena* arena_;
    void* p_;
  };

  explicit BlockArena(std::size_t block_bytes) : block_bytes_(block_bytes) {}
  BlockArena(const BlockArena&) = delete;
  BlockArena& operator=(const BlockArena&) = delete;
  ~BlockArena() {
    CK(cudaDeviceSynchronize());
    for (void* p : all_) CK(cudaFree(p));
  }

  Block take() {
    if (free_.empty()) {
      void* p = nullptr;
      CK(cudaMalloc(&p, block_bytes_));
      all_.push_back(p);
      free_.push_back(p);
    }
    void* p = free_.back();
    free_.pop_back();
    return Block(this, p);
  }

 private:
  void give_back(void* p) { free_.push_back(p); }

  std::size_t block_bytes_;
  std::vector<void*> all_;
  std::vector<void*> free_;
};

__global__ void extend_seeds(const std::uint32_t* reads, int first, int count, int* scores) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) scores[i] = __popc(reads[first + i] ^ (reads[first + i] >> 1));
}

class SeedExtender {
 public:
  SeedExtender(const std::uint32_t* reads, int batch) : reads_(reads), batch_(batch), arena_(sizeof(int) * batch) {
    CK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&scored_, cudaEventDisableTiming));
  }
  ~SeedExtender() {
    finish();
    CK(cudaEventDestroy(scored_));
    CK(cudaStreamDestroy(compute_));
    CK(cudaStreamDestroy(copy_));
  }
  SeedExtender(const SeedExtender&) = delete;
  SeedExtender& operator=(const SeedExtender&) = delete;

  /// Scores one batch of reads into pinned host memory.
  void extend(int first, int* host_scores) {
    const BlockArena::Block scores = arena_.take();
    extend_seeds<<<(batch_ + 255) / 256, 256, 0, compute_>>>(reads_, first, batch_, scores.as<int>());
    CK(cudaGetLastError());
    send(scores, host_scores);
  }

  void finish() {
    CK(cudaStreamSynchronize(compute_));
    CK(cudaStreamSynchronize(copy_));
  }

 private:
  void send(const BlockArena::Block& scores, int* host_scores) {
    CK(cudaEventRecord(scored_, compute_));
    CK(cudaStreamWaitEvent(copy_, scored_, 0));
    CK(cudaMemcpyAsync(host_scores, scores.as<int>(), sizeof(int) * batch_, cudaMemcpyDeviceToHost, copy_));
  }

  const std::uint32_t* reads_;
  int batch_;
  BlockArena arena_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t copy_ = nullptr;
  cudaEvent_t scored_ = nullptr;
};

int main() {
  constexpr int kBatch = 1 << 16;
  constexpr int kBatches = 64;
  std::uint32_t* reads = nullptr;
  int* scores = nullptr;
  CK(cudaMalloc(reinterpret_cast<void**>(&reads), sizeof(std::uint32_t) * kBatch * kBatches));
  CK(cudaMemset(reads, 0x5a, sizeof(std::uint32_t) * kBatch * kBatches));
  CK(cudaMallocHost(reinterpret_cast<void**>(&scores), sizeof(int) * kBatch * kBatches));
  CK(cudaDeviceSynchronize());
  long total = 0;
  {
    SeedExtender extender(reads, kBatch);
    for (int b = 0; b < kBatches; ++b) extender.extend(b * kBatch, scores + b * kBatch);
    extender.finish();
    for (int i = 0; i < kBatch * kBatches; ++i) total += scores[i];
  }
  std::printf("total score %ld\n", total);
  CK(cudaFreeHost(scores));
  CK(cudaFree(reads));
  return 0;
}
