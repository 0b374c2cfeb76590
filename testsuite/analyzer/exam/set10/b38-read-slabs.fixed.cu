// Uploads packed sequencing reads to the device through a small pool of page-locked slabs and
// counts GC content per batch.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#define GC_CHECK(stmt)                                                               \
  do {                                                                               \
    const cudaError_t gc_rc = (stmt);                                                \
    if (gc_rc != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s -> %s\n", #stmt, cudaGetErrorName(gc_rc));            \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

namespace reads {

constexpr std::size_t kSlabBytes = 1 << 20;

__global__ void count_gc(const std::uint8_t* __restrict__ packed, std::size_t bytes,
                         unsigned long long* __restrict__ total) {
  unsigned local = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) {
    const unsigned b = packed[i];
    for (int k = 0; k < 8; k += 2) {
      const unsigned base = (b >> k) & 3u;
      local += base == 1u || base == 2u;
    }
  }
  atomicAdd(total, static_cast<unsigned long long>(local));
}

class SlabPool {
 public:
  // Returns its slab to the pool at the end of its life.
  class Lease {
   public:
    Lease(SlabPool& pool, std::uint8_t* slab) : pool_(&pool), slab_(slab) {}
    Lease(Lease&& o) noexcept : pool_(o.pool_), slab_(o.slab_) { o.slab_ = nullptr; }
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (slab_) pool_->put_back(slab_);
    }
    std::uint8_t* data() const { return slab_; }

   private:
    SlabPool* pool_;
    std::uint8_t* slab_;
  };

  explicit SlabPool(std::size_t slabs) {
    for (std::size_t i = 0; i < slabs; ++i) {
      std::uint8_t* p = nullptr;
      GC_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&p), kSlabBytes, cudaHostAllocDefault));
      all_.push_back(p);
    }
    free_ = all_;
  }
  ~SlabPool() {
    for (auto* p : all_) cudaFreeHost(p);
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  Lease lease() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) {
      std::uint8_t* p = nullptr;
      GC_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&p), kSlabBytes, cudaHostAllocDefault));
      all_.push_back(p);
      free_.push_back(p);
    }
    std::uint8_t* p = free_.back();
    free_.pop_back();
    return Lease(*this, p);
  }

 private:
  void put_back(std::uint8_t* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(p);
  }

  std::mutex mutex_;
  std::vector<std::uint8_t*> all_;
  std::vector<std::uint8_t*> free_;
};

std::uint8_t code(char base) {
  switch (base) {
    case 'C': return 1;
    case 'G': return 2;
    case 'T': return 3;
    default: return 0;
  }
}

std::size_t pack(const std::string& bases, std::uint8_t* out) {
  const std::size_t bytes = bases.size() / 4;
  for (std::size_t i = 0; i < bytes; ++i)
    out[i] = static_cast<std::uint8_t>(code(bases[4 * i]) | code(bases[4 * i + 1]) << 2 |
                                       code(bases[4 * i + 2]) << 4 | code(bases[4 * i + 3]) << 6);
  return bytes;
}

class GcCounter {
 public:
  explicit GcCounter(std::size_t batches) : slabs_(2), total_host_(batches) {
    GC_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GC_CHECK(cudaMalloc(&reads_, kSlabBytes));
    GC_CHECK(cudaMalloc(&totals_, batches * sizeof(*totals_)));
    GC_CHECK(cudaMemsetAsync(totals_, 0, batches * sizeof(*totals_), stream_));
  }
  ~GcCounter() {
    cudaStreamSynchronize(stream_);
    cudaFree(totals_);
    cudaFree(reads_);
    cudaStreamDestroy(stream_);
  }

  void add(std::size_t batch, const std::string& bases) {
    const std::size_t bytes = upload(bases);
    count_gc<<<64, 256, 0, stream_>>>(reads_, bytes, totals_ + batch);
    GC_CHECK(cudaGetLastError());
  }

  const std::vector<unsigned long long>& finish() {
    GC_CHECK(cudaMemcpyAsync(total_host_.data(), totals_, total_host_.size() * sizeof(*totals_),
                             cudaMemcpyDeviceToHost, stream_));
    GC_CHECK(cudaStreamSynchronize(stream_));
    return total_host_;
  }

 private:
  std::size_t upload(const std::string& bases) {
    SlabPool::Lease slab = slabs_.lease();
    const std::size_t bytes = pack(bases, slab.data());
    GC_CHECK(cudaMemcpyAsync(reads_, slab.data(), bytes, cudaMemcpyHostToDevice, stream_));
    GC_CHECK(cudaStreamSynchronize(stream_));
    return bytes;
  }

  SlabPool slabs_;
  cudaStream_t stream_ = nullptr;
  std::uint8_t* reads_ = nullptr;
  unsigned long long* totals_ = nullptr;
  std::vector<unsigned long long> total_host_;
};

}  // namespace reads

int main() {
  constexpr std::size_t batches = 40;
  std::mt19937 rng(4);
  reads::GcCounter counter(batches);
  for (std::size_t b = 0; b < batches; ++b) {
    std::string bases(4 * reads::kSlabBytes, 'A');
    for (auto& c : bases) c = "ACGT"[rng() & 3u];
    counter.add(b, bases);
  }
  for (unsigned long long n : counter.finish()) std::printf("%llu\n", n);
}
