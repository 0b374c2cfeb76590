// Embedding rows in a growing virtual range. Pages are mapped when a shard becomes hot and unmapped when it
// cools down, so that addresses of rows never change.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace embeddings {

#define RT_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

#define DRV_CHECK(expr)                                                                                 \
  do {                                                                                                  \
    CUresult rc_ = (expr);                                                                              \
    if (rc_ != CUDA_SUCCESS) {                                                                          \
      std::fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #expr, static_cast<int>(rc_));  \
      std::abort();                                                                                     \
    }                                                                                                   \
  } while (0)

__global__ void gather(const float* shard, const int* rows, int count, int dim, float* out) {
  int i = blockIdx.x, d = threadIdx.x;
  if (i < count && d < dim) out[i * dim + d] += shard[static_cast<std::size_t>(rows[i]) * dim + d];
}

__global__ void initialise(float* shard, std::size_t n, float value) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) shard[i] = value;
}

// Address range with one page per shard.
class PagedRange {
 public:
  PagedRange(int device, int shards, std::size_t wantedPageBytes) : pages_(shards) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    std::size_t unit = 0;
    DRV_CHECK(cuMemGetAllocationGranularity(&unit, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    pageBytes_ = (wantedPageBytes + unit - 1) / unit * unit;
    DRV_CHECK(cuMemAddressReserve(&base_, pageBytes_ * pages_.size(), 0, 0, 0));
  }
  PagedRange(const PagedRange&) = delete;
  ~PagedRange() {
    for (std::size_t p = 0; p < pages_.size(); ++p)
      if (pages_[p].mapped) unmap(static_cast<int>(p));
    cuMemAddressFree(base_, pageBytes_ * pages_.size());
  }

  void map(int page) {
    Page& p = pages_[page];
    DRV_CHECK(cuMemCreate(&p.memory, pageBytes_, &prop_, 0));
    DRV_CHECK(cuMemMap(address(page), pageBytes_, 0, p.memory, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV_CHECK(cuMemSetAccess(address(page), pageBytes_, &access, 1));
    p.mapped = true;
  }

  void unmap(int page) {
    Page& p = pages_[page];
    DRV_CHECK(cuMemUnmap(address(page), pageBytes_));
    DRV_CHECK(cuMemRelease(p.memory));
    p.mapped = false;
  }

  bool mapped(int page) const { return pages_[page].mapped; }
  float* data(int page) const { return reinterpret_cast<float*>(address(page)); }
  std::size_t floats() const { return pageBytes_ / sizeof(float); }

 private:
  struct Page {
    CUmemGenericAllocationHandle memory = 0;
    bool mapped = false;
  };
  CUdeviceptr address(int page) const { return base_ + page * pageBytes_; }

  CUmemAllocationProp prop_{};
  std::size_t pageBytes_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<Page> pages_;
};

struct Lookup {
  int shard;
  const int* rows;
  int count;
  float* out;  // pooled sum per row, on the device
};

class EmbeddingStore {
 public:
  EmbeddingStore(int device, int shards, int dim, std::size_t rowsPerShard, int maxHot)
      : range_(device, shards, rowsPerShard * dim * sizeof(float)), dim_(dim), maxHot_(maxHot) {
    RT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  EmbeddingStore(const EmbeddingStore&) = delete;
  EmbeddingStore& operator=(const EmbeddingStore&) = delete;
  ~EmbeddingStore() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void lookup(const Lookup& l) {
    touch(l.shard);
    gather<<<l.count, dim_, 0, stream_>>>(range_.data(l.shard), l.rows, l.count, dim_, l.out);
    RT_CHECK(cudaGetLastError());
  }

  void wait() { RT_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  // Brings the shard to the front of the hot list; the coldest one may have to go.
  void touch(int shard) {
    for (std::size_t i = 0; i < hot_.size(); ++i) {
      if (hot_[i] != shard) continue;
      hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
      hot_.push_back(shard);
      return;
    }
    if (hot_.size() == static_cast<std::size_t>(maxHot_)) evictColdest();
    range_.map(shard);
    initialise<<<(range_.floats() + 255) / 256, 256, 0, stream_>>>(range_.data(shard), range_.floats(), 0.01f);
    RT_CHECK(cudaGetLastError());
    hot_.push_back(shard);
  }

  void evictColdest() {
    const int shard = hot_.front();
    hot_.erase(hot_.begin());
    range_.unmap(shard);
  }

  PagedRange range_;
  int dim_;
  int maxHot_;
  std::vector<int> hot_;
  cudaStream_t stream_ = nullptr;
};

void lookupAll(EmbeddingStore& store, const std::vector<Lookup>& batch) {
  for (const Lookup& l : batch) store.lookup(l);
  store.wait();
}

}  // namespace embeddings
