// Pinned slab pool shared by all GPUs of the node.
#include <cuda_runtime.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#define CUCASCADE_CUDA_TRY(expr)                                               \
  do {                                                                         \
    cudaError_t const rc = (expr);                                             \
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));   \
  } while (0)

namespace cucascade::memory {

constexpr int max_devices = 2;
constexpr std::size_t slab_bytes = std::size_t{4} << 20;

struct device_guard {
  explicit device_guard(int dev) { CUCASCADE_CUDA_TRY(cudaGetDevice(&old)); CUCASCADE_CUDA_TRY(cudaSetDevice(dev)); }
  ~device_guard() { cudaSetDevice(old); }
  int old{};
};

struct slab {
  std::byte* host{};
  std::array<cudaEvent_t, max_devices> last_use{};
  int last_device{0};
};

class pinned_slab_pool {
 public:
  explicit pinned_slab_pool(std::size_t n)
  {
    for (std::size_t i = 0; i < n; ++i) {
      auto s = std::make_unique<slab>();
      CUCASCADE_CUDA_TRY(cudaHostAlloc(reinterpret_cast<void**>(&s->host), slab_bytes, cudaHostAllocPortable));
      for (int d = 0; d < max_devices; ++d) {
        device_guard on(d);
        CUCASCADE_CUDA_TRY(cudaEventCreateWithFlags(&s->last_use[d], cudaEventDisableTiming));
      }
      free_.push_back(s.get());
      all_.push_back(std::move(s));
    }
  }
  ~pinned_slab_pool()
  {
    for (auto& s : all_) {
      for (auto e : s->last_use) {
        cudaEventSynchronize(e);
        cudaEventDestroy(e);
      }
      cudaFreeHost(s->host);
    }
  }

  /** A slab whose previous transfer is complete. */
  slab* acquire()
  {
    std::lock_guard<std::mutex> lock(mtx_);
    if (free_.empty()) throw std::bad_alloc();
    slab* s = free_.front();
    free_.pop_front();
    CUCASCADE_CUDA_TRY(cudaEventSynchronize(s->last_use[s->last_device]));
    return s;
  }

  /** Returns the slab; transfers already enqueued on `stream` may still use it. */
  void release(slab* s, int device, cudaStream_t stream) noexcept
  {
    std::lock_guard<std::mutex> lock(mtx_);
    s->last_device = device;
    if (cudaEventRecord(s->last_use[device], stream) != cudaSuccess) {
      cudaStreamSynchronize(stream);
    }
    free_.push_back(s);
  }

 private:
  std::mutex mtx_;
  std::vector<std::unique_ptr<slab>> all_;
  std::deque<slab*> free_;
};

class gpu_tier {
 public:
  gpu_tier(int device, std::size_t bytes) : device_(device)
  {
    device_guard on(device_);
    CUCASCADE_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUCASCADE_CUDA_TRY(cudaMalloc(&data_, bytes));
  }
  ~gpu_tier()
  {
    device_guard on(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(data_);
    cudaStreamDestroy(stream_);
  }

  // Spills from the disk tier: page by page through the pool.
  void load(pinned_slab_pool& pool, std::byte const* src, std::size_t bytes)
  {
    device_guard on(device_);
    for (std::size_t off = 0; off < bytes; off += slab_bytes) {
      std::size_t const len = bytes - off < slab_bytes ? bytes - off : slab_bytes;
      slab* s = pool.acquire();
      std::memcpy(s->host, src + off, len);
      CUCASCADE_CUDA_TRY(cudaMemcpyAsync(data_ + off, s->host, len, cudaMemcpyHostToDevice, stream_));
      pool.release(s, device_, stream_);
    }
  }

 private:
  int device_;
  cudaStream_t stream_{};
  std::byte* data_{};
};

}  // namespace cucascade::memory

int main()
{
  using namespace cucascade::memory;
  std::vector<std::byte> table(64 << 20);
  pinned_slab_pool pool(4);
  gpu_tier gpu0(0, table.size()), gpu1(1, table.size());
  gpu0.load(pool, table.data(), table.size());
  gpu1.load(pool, table.data(), table.size());
  return 0;
}
