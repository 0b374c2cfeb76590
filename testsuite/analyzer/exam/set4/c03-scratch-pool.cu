// Batched number-theoretic transforms with scratch shared by all lanes.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace ntt {

#define NTT_DIE_ON(e)                                              \
  if (cudaError_t rc = (e); rc != cudaSuccess) {                   \
    std::fprintf(stderr, "ntt: %s\n", cudaGetErrorString(rc));     \
    std::abort();                                                  \
  }

constexpr std::uint64_t kMod = 0xffffffff00000001ull;

struct Block {
  std::uint64_t* mem = nullptr;
  cudaEvent_t lastUse = nullptr;
};

class ScratchPool {
 public:
  class Lease {
   public:
    Lease(ScratchPool& pool, Block* b, cudaStream_t s) : pool_(&pool), b_(b), s_(s) {}
    Lease(Lease&& o) noexcept : pool_(o.pool_), b_(std::exchange(o.b_, nullptr)), s_(o.s_) {}
    ~Lease() {
      if (b_) pool_->put(b_, s_);
    }
    std::uint64_t* get() const { return b_->mem; }

   private:
    ScratchPool* pool_;
    Block* b_;
    cudaStream_t s_;
  };

  ScratchPool(int blocks, std::size_t words) {
    for (int i = 0; i < blocks; ++i) {
      auto b = std::make_unique<Block>();
      NTT_DIE_ON(cudaMalloc(&b->mem, words * sizeof(std::uint64_t)));
      NTT_DIE_ON(cudaEventCreateWithFlags(&b->lastUse, cudaEventDisableTiming));
      ready_.push_back(b.get());
      owned_.push_back(std::move(b));
    }
  }
  ~ScratchPool() {
    for (auto& b : owned_) {
      cudaEventSynchronize(b->lastUse);
      cudaFree(b->mem);
      cudaEventDestroy(b->lastUse);
    }
  }

  Lease lease(cudaStream_t s) {
    Block* b = ready_.front();
    ready_.pop_front();
    NTT_DIE_ON(cudaStreamWaitEvent(s, b->lastUse, 0));
    return Lease(*this, b, s);
  }

 private:
  void put(Block* b, cudaStream_t s) {
    NTT_DIE_ON(cudaEventRecord(b->lastUse, s));
    ready_.push_back(b);
  }
  std::vector<std::unique_ptr<Block>> owned_;
  std::deque<Block*> ready_;
};

__global__ void bitReverse(const std::uint64_t* in, std::uint64_t* out, int logn) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (1u << logn)) out[__brev(i) >> (32 - logn)] = in[i];
}
__global__ void butterflies(const std::uint64_t* in, std::uint64_t* out, int logn, std::uint64_t root) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, half = 1u << (logn - 1);
  if (i >= half) return;
  std::uint64_t a = in[i] % kMod, b = in[i + half] % kMod;
  std::uint64_t t = (std::uint64_t)(((unsigned __int128)b * root) % kMod);
  out[i] = (a + t) % kMod;
  out[i + half] = (a + kMod - t) % kMod;
}

class Lane {
 public:
  explicit Lane(int logn) : logn_(logn) {
    NTT_DIE_ON(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    NTT_DIE_ON(cudaMalloc(&poly_, sizeof(std::uint64_t) << logn_));
    NTT_DIE_ON(cudaMemsetAsync(poly_, 1, sizeof(std::uint64_t) << logn_, s_));
  }
  ~Lane() {
    cudaStreamSynchronize(s_);
    cudaFree(poly_);
    cudaStreamDestroy(s_);
  }
  Lane(const Lane&) = delete;

  void transform(ScratchPool& pool, std::uint64_t root) {
    auto tmp = pool.lease(s_);
    const unsigned n = 1u << logn_;
    bitReverse<<<(n + 255) / 256, 256, 0, s_>>>(poly_, tmp.get(), logn_);
    butterflies<<<(n / 2 + 255) / 256, 256, 0, s_>>>(tmp.get(), poly_, logn_, root);
    NTT_DIE_ON(cudaGetLastError());
  }
  std::uint64_t front() {
    std::uint64_t v = 0;
    NTT_DIE_ON(cudaMemcpyAsync(&v, poly_, sizeof v, cudaMemcpyDeviceToHost, s_));
    NTT_DIE_ON(cudaStreamSynchronize(s_));
    return v;
  }

 private:
  int logn_;
  cudaStream_t s_{};
  std::uint64_t* poly_{};
};

}  // namespace ntt

int main() {
  const int logn = 20;
  ntt::ScratchPool pool(2, std::size_t(1) << logn);
  std::vector<std::unique_ptr<ntt::Lane>> lanes;
  for (int i = 0; i < 5; ++i) lanes.push_back(std::make_unique<ntt::Lane>(logn));
  for (int round = 0; round < 64; ++round)
    for (auto& l : lanes) l->transform(pool, 7 + round);
  std::uint64_t x = 0;
  for (auto& l : lanes) x ^= l->front();
  std::printf("%llx\n", static_cast<unsigned long long>(x));
}
