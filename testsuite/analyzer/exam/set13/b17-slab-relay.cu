// Page-locked slabs that carry table columns between host and all GPUs of the node.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace columns {

void check(cudaError_t e, const char* file, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
  std::abort();
}
#define COL_CHECK(x) ::columns::check((x), __FILE__, __LINE__)

class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    COL_CHECK(cudaGetDevice(&previous_));
    COL_CHECK(cudaSetDevice(device));
  }
  ~DeviceGuard() { cudaSetDevice(previous_); }

 private:
  int previous_ = 0;
};

struct Slab {
  void* host = nullptr;
  cudaEvent_t idle{};
};

class SlabPool {
 public:
  SlabPool(std::size_t bytes, int count) : bytes_(bytes) {
    for (int i = 0; i < count; ++i) {
      auto s = std::make_unique<Slab>();
      COL_CHECK(cudaHostAlloc(&s->host, bytes_, cudaHostAllocPortable));
      COL_CHECK(cudaEventCreateWithFlags(&s->idle, cudaEventDisableTiming));
      free_.push_back(s.get());
      slabs_.push_back(std::move(s));
    }
  }

  ~SlabPool() {
    for (auto& s : slabs_) {
      cudaEventDestroy(s->idle);
      cudaFreeHost(s->host);
    }
  }

  Slab* acquire() {
    Slab* s = nullptr;
    {
      std::lock_guard<std::mutex> lk(m_);
      s = free_.front();
      free_.pop_front();
    }
    cudaEventSynchronize(s->idle);
    return s;
  }

  // Everything queued on `stream` so far may still use the slab.
  void release(Slab* s, int device, cudaStream_t stream) noexcept {
    DeviceGuard guard(device);
    cudaEventRecord(s->idle, stream);
    std::lock_guard<std::mutex> lk(m_);
    free_.push_back(s);
  }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::mutex m_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::deque<Slab*> free_;
};

__global__ void histogram(const int* values, int n, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[values[i] & 255], 1u);
}

class Shard {
 public:
  Shard(int device, SlabPool& pool, int rows) : device_(device), pool_(pool), rows_(rows) {
    DeviceGuard guard(device_);
    COL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    COL_CHECK(cudaMalloc(&column_, rows_ * sizeof(int)));
    COL_CHECK(cudaMalloc(&bins_, 256 * sizeof(unsigned)));
    COL_CHECK(cudaMemsetAsync(bins_, 0, 256 * sizeof(unsigned), stream_));
  }
  ~Shard() {
    DeviceGuard guard(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(bins_);
    cudaFree(column_);
    cudaStreamDestroy(stream_);
  }
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void ingest(const std::vector<int>& rows) {
    const std::size_t chunk = pool_.bytes() / sizeof(int);
    DeviceGuard guard(device_);
    for (std::size_t at = 0; at < rows.size(); at += chunk) {
      const std::size_t n = std::min(chunk, rows.size() - at);
      Slab* slab = pool_.acquire();
      std::memcpy(slab->host, rows.data() + at, n * sizeof(int));
      COL_CHECK(cudaMemcpyAsync(column_ + at, slab->host, n * sizeof(int), cudaMemcpyHostToDevice,
                                stream_));
      pool_.release(slab, device_, stream_);
    }
    histogram<<<(rows_ + 255) / 256, 256, 0, stream_>>>(column_, static_cast<int>(rows.size()),
                                                        bins_);
  }

  std::vector<unsigned> bins() {
    DeviceGuard guard(device_);
    std::vector<unsigned> out(256);
    COL_CHECK(cudaStreamSynchronize(stream_));
    COL_CHECK(cudaMemcpy(out.data(), bins_, out.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  int device_;
  SlabPool& pool_;
  int rows_;
  cudaStream_t stream_{};
  int* column_ = nullptr;
  unsigned* bins_ = nullptr;
};

}  // namespace columns

int main() {
  int devices = 0;
  COL_CHECK(cudaGetDeviceCount(&devices));
  constexpr int kRows = 1 << 22;
  columns::SlabPool pool(1 << 20, 4);
  std::vector<std::unique_ptr<columns::Shard>> shards;
  for (int d = 0; d < devices; ++d)
    shards.push_back(std::make_unique<columns::Shard>(d, pool, kRows));
  std::vector<int> rows(kRows);
  for (auto& s : shards) {
    std::iota(rows.begin(), rows.end(), 7);
    s->ingest(rows);
  }
  for (auto& s : shards) std::printf("%u\n", s->bins()[0]);
  return 0;
}
