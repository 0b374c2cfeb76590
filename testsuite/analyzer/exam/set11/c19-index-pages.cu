// Pages of a secondary index in a reserved address range. A page that is dropped stays mapped until the probes
// that may still read it are over.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace colindex {

#define RT_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

#define DRV_CHECK(expr)                                                                                \
  do {                                                                                                 \
    CUresult rc_ = (expr);                                                                             \
    if (rc_ != CUDA_SUCCESS) {                                                                         \
      std::fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #expr, static_cast<int>(rc_)); \
      std::abort();                                                                                    \
    }                                                                                                  \
  } while (0)

__global__ void probe(const std::uint32_t* page, std::size_t words, const std::uint32_t* keys, int count,
                      std::uint32_t* hits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && page[keys[i] % words] == keys[i]) atomicAdd(hits, 1u);
}

class IndexPages {
 public:
  IndexPages(int device, int pages, std::size_t wantedBytes) : pages_(pages) {
    prop_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop_.location.id = device;
    std::size_t unit = 0;
    DRV_CHECK(cuMemGetAllocationGranularity(&unit, &prop_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    bytes_ = (wantedBytes + unit - 1) / unit * unit;
    DRV_CHECK(cuMemAddressReserve(&base_, bytes_ * pages_.size(), 0, 0, 0));
    for (Page& p : pages_) RT_CHECK(cudaEventCreateWithFlags(&p.lastProbe, cudaEventDisableTiming));
  }
  IndexPages(const IndexPages&) = delete;
  ~IndexPages() {
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      if (pages_[i].mapped) drop(static_cast<int>(i));
      cudaEventDestroy(pages_[i].lastProbe);
    }
    cuMemAddressFree(base_, bytes_ * pages_.size());
  }

  void map(int i) {
    Page& p = pages_[i];
    DRV_CHECK(cuMemCreate(&p.memory, bytes_, &prop_, 0));
    DRV_CHECK(cuMemMap(address(i), bytes_, 0, p.memory, 0));
    CUmemAccessDesc access{};
    access.location = prop_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRV_CHECK(cuMemSetAccess(address(i), bytes_, &access, 1));
    p.mapped = true;
  }

  // Waits for the probes of this page only.
  void drop(int i) {
    Page& p = pages_[i];
    RT_CHECK(cudaEventSynchronize(p.lastProbe));
    DRV_CHECK(cuMemUnmap(address(i), bytes_));
    DRV_CHECK(cuMemRelease(p.memory));
    p.mapped = false;
  }

  // Several probers may share the pages: the event stays behind the probes of all of them.
  void probed(int i, cudaStream_t stream) {
    RT_CHECK(cudaStreamWaitEvent(stream, pages_[i].lastProbe, 0));
    RT_CHECK(cudaEventRecord(pages_[i].lastProbe, stream));
  }
  std::uint32_t* data(int i) const { return reinterpret_cast<std::uint32_t*>(address(i)); }
  std::size_t words() const { return bytes_ / sizeof(std::uint32_t); }

 private:
  struct Page {
    CUmemGenericAllocationHandle memory = 0;
    cudaEvent_t lastProbe = nullptr;
    bool mapped = false;
  };
  CUdeviceptr address(int i) const { return base_ + i * bytes_; }

  CUmemAllocationProp prop_{};
  std::size_t bytes_ = 0;
  CUdeviceptr base_ = 0;
  std::vector<Page> pages_;
};

class IndexProber {
 public:
  IndexProber(IndexPages& pages, int maxKeys) : pages_(pages), maxKeys_(maxKeys) {
    RT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT_CHECK(cudaMalloc(reinterpret_cast<void**>(&keys_), maxKeys * sizeof(std::uint32_t)));
    RT_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&hits_), sizeof(std::uint32_t), cudaHostAllocMapped));
    RT_CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&deviceHits_), hits_, 0));
    reset();
  }
  IndexProber(const IndexProber&) = delete;
  ~IndexProber() {
    cudaStreamSynchronize(stream_);
    cudaFree(keys_);
    cudaFreeHost(hits_);
    cudaStreamDestroy(stream_);
  }

  // Loads a page; the words come from memory of the caller, who may reuse it afterwards.
  void load(int page, const std::vector<std::uint32_t>& words) {
    pages_.map(page);
    RT_CHECK(cudaMemsetAsync(pages_.data(page), 0xff, pages_.words() * sizeof(std::uint32_t), stream_));
    RT_CHECK(cudaMemcpyAsync(pages_.data(page), words.data(), words.size() * sizeof(std::uint32_t),
                             cudaMemcpyHostToDevice, stream_));
    pages_.probed(page, stream_);
    RT_CHECK(cudaStreamSynchronize(stream_));
  }

  void setKeys(const std::vector<std::uint32_t>& keys) {
    count_ = keys.size() < static_cast<std::size_t>(maxKeys_) ? static_cast<int>(keys.size()) : maxKeys_;
    RT_CHECK(cudaMemcpyAsync(keys_, keys.data(), count_ * sizeof(std::uint32_t), cudaMemcpyHostToDevice, stream_));
    RT_CHECK(cudaStreamSynchronize(stream_));
  }

  void enqueue(int page) {
    if (count_ == 0) return;
    probe<<<(count_ + 127) / 128, 128, 0, stream_>>>(pages_.data(page), pages_.words(), keys_, count_, deviceHits_);
    RT_CHECK(cudaGetLastError());
    pages_.probed(page, stream_);
  }

  std::uint32_t result() {
    RT_CHECK(cudaStreamSynchronize(stream_));
    const std::uint32_t n = *hits_;
    reset();
    return n;
  }

 private:
  void reset() { RT_CHECK(cudaMemsetAsync(deviceHits_, 0, sizeof(std::uint32_t), stream_)); }

  IndexPages& pages_;
  int maxKeys_;
  int count_ = 0;
  cudaStream_t stream_ = nullptr;
  std::uint32_t* keys_ = nullptr;
  std::uint32_t* hits_ = nullptr;
  std::uint32_t* deviceHits_ = nullptr;
};

// Probes two pages of a table that is about to be rewritten, then drops the stale one.
std::uint32_t probeAndRetire(IndexPages& pages, IndexProber& prober, int fresh, int stale,
                             const std::vector<std::uint32_t>& keys) {
  prober.setKeys(keys);
  prober.enqueue(stale);
  prober.enqueue(fresh);
  pages.drop(stale);
  return prober.result();
}

}  // namespace colindex
