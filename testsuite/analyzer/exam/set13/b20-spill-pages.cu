// Brings spilled hash-join partitions back to the GPU with one batched copy per partition.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace join {

#define JOIN_CHECK(expr)                                                             \
  do {                                                                               \
    cudaError_t status_ = (expr);                                                    \
    if (status_ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s: %s\n", #expr, cudaGetErrorString(status_));          \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

constexpr std::size_t kPage = 64 * 1024;

// A page file that keeps its pages compressed; reading a page inflates it.
class PageFile {
 public:
  explicit PageFile(std::size_t pages) : seeds_(pages) {
    for (std::size_t i = 0; i < pages; ++i) seeds_[i] = static_cast<std::uint32_t>(i * 2654435761u);
  }
  void inflate(std::size_t page, std::vector<std::uint32_t>& out) const {
    out.resize(kPage / sizeof(std::uint32_t));
    std::uint32_t x = seeds_.at(page) | 1u;
    for (auto& v : out) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      v = x;
    }
  }
  std::size_t pages() const { return seeds_.size(); }

 private:
  std::vector<std::uint32_t> seeds_;
};

class DevicePages {
 public:
  DevicePages(std::size_t pages, cudaStream_t s) : stream_(s) {
    JOIN_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&base_), pages * kPage, s));
  }
  ~DevicePages() { cudaFreeAsync(base_, stream_); }
  DevicePages(const DevicePages&) = delete;
  DevicePages& operator=(const DevicePages&) = delete;
  char* page(std::size_t i) const { return base_ + i * kPage; }
  const std::uint32_t* words() const { return reinterpret_cast<const std::uint32_t*>(base_); }

 private:
  cudaStream_t stream_;
  char* base_ = nullptr;
};

class CopyBatch {
 public:
  void add(void* dst, const void* src, std::size_t bytes) {
    dst_.push_back(dst);
    src_.push_back(src);
    bytes_.push_back(bytes);
  }

  void submit(cudaStream_t s) {
    cudaMemcpyAttributes how{};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    JOIN_CHECK(cudaMemcpyBatchAsync(dst_.data(), src_.data(), bytes_.data(), dst_.size(), &how,
                                    &first, 1, s));
  }

 private:
  std::vector<void*> dst_;
  std::vector<const void*> src_;
  std::vector<std::size_t> bytes_;
};

__global__ void probe(const std::uint32_t* keys, std::size_t n, unsigned long long* hits) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n && (keys[i] & 0xfffu) == 0x123u) atomicAdd(hits, 1ull);
}

class PartitionReader {
 public:
  PartitionReader(const PageFile& file, cudaStream_t s) : file_(file), stream_(s) {}

  std::unique_ptr<DevicePages> load(std::size_t first, std::size_t count) {
    auto target = std::make_unique<DevicePages>(count, stream_);
    std::vector<std::vector<std::uint32_t>> pages(count);
    CopyBatch batch;
    for (std::size_t i = 0; i < count; ++i) {
      file_.inflate(first + i, pages[i]);
      batch.add(target->page(i), pages[i].data(), kPage);
    }
    batch.submit(stream_);
    return target;
  }

 private:
  const PageFile& file_;
  cudaStream_t stream_;
};

unsigned long long count_hits(const PageFile& file, std::size_t pages_per_partition) {
  cudaStream_t s{};
  unsigned long long *hits = nullptr, result = 0;
  JOIN_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  JOIN_CHECK(cudaMalloc(&hits, sizeof *hits));
  JOIN_CHECK(cudaMemsetAsync(hits, 0, sizeof *hits, s));
  PartitionReader reader(file, s);
  for (std::size_t p = 0; p + pages_per_partition <= file.pages(); p += pages_per_partition) {
    auto partition = reader.load(p, pages_per_partition);
    const std::size_t n = pages_per_partition * kPage / sizeof(std::uint32_t);
    probe<<<static_cast<unsigned>((n + 255) / 256), 256, 0, s>>>(partition->words(), n, hits);
  }
  JOIN_CHECK(cudaMemcpyAsync(&result, hits, sizeof result, cudaMemcpyDeviceToHost, s));
  JOIN_CHECK(cudaStreamSynchronize(s));
  JOIN_CHECK(cudaFree(hits));
  JOIN_CHECK(cudaStreamDestroy(s));
  return result;
}

}  // namespace join

int main() {
  join::PageFile file(1024);
  std::printf("%llu\n", join::count_hits(file, 64));
  return 0;
}
