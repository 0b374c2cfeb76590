// Pinned slabs for spilling query intermediates from several GPUs.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace spill {

constexpr std::size_t slab_bytes = std::size_t{4} << 20;

struct slab {
  std::uint8_t* base{};
  std::vector<cudaEvent_t> done;
  int device{};
};

class slab_pool {
 public:
  slab_pool(int device_count, int slabs)
  {
    for (int i = 0; i < slabs; ++i) {
      auto s = std::make_unique<slab>();
      cudaHostAlloc(reinterpret_cast<void**>(&s->base), slab_bytes, cudaHostAllocPortable);
      s->done.resize(device_count);
      for (int d = 0; d < device_count; ++d) {
        cudaSetDevice(d);
        cudaEventCreateWithFlags(&s->done[d], cudaEventDisableTiming);
      }
      idle_.push_back(s.get());
      slabs_.push_back(std::move(s));
    }
  }

  ~slab_pool()
  {
    for (auto& s : slabs_) {
      for (auto e : s->done) {
        cudaEventSynchronize(e);
        cudaEventDestroy(e);
      }
      cudaFreeHost(s->base);
    }
  }

  // Blocks until the slab's last copy is over.
  slab* acquire()
  {
    if (idle_.empty()) return nullptr;
    slab* s = idle_.front();
    idle_.pop_front();
    cudaEventSynchronize(s->done[s->device]);
    return s;
  }

  void release(slab* s, int device, cudaStream_t stream)
  {
    cudaEventRecord(s->done[device], stream);
    s->device = device;
    idle_.push_back(s);
  }

 private:
  std::vector<std::unique_ptr<slab>> slabs_;
  std::deque<slab*> idle_;
};

// One upload stream on each of the GPUs.
class uploader {
 public:
  uploader(slab_pool& pool, int device_count) : pool_(pool), streams_(device_count)
  {
    for (int d = 0; d < device_count; ++d) {
      cudaSetDevice(d);
      cudaStreamCreateWithFlags(&streams_[d], cudaStreamNonBlocking);
    }
  }
  ~uploader()
  {
    for (auto s : streams_) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
  }

  bool restore(int device, std::uint8_t* dst, const std::uint8_t* spilled, std::size_t bytes)
  {
    cudaSetDevice(device);
    for (std::size_t off = 0; off < bytes; off += slab_bytes) {
      std::size_t const n = bytes - off < slab_bytes ? bytes - off : slab_bytes;
      slab* s = pool_.acquire();
      if (s == nullptr) return false;
      std::memcpy(s->base, spilled + off, n);
      cudaMemcpyAsync(dst + off, s->base, n, cudaMemcpyHostToDevice, streams_[device]);
      pool_.release(s, device, streams_[device]);
    }
    return true;
  }

 private:
  slab_pool& pool_;
  std::vector<cudaStream_t> streams_;
};

void restore_partition(std::uint8_t* dst_on_gpu1, const std::uint8_t* spilled, std::size_t bytes)
{
  slab_pool pool(2, 8);
  uploader up(pool, 2);
  up.restore(1, dst_on_gpu1, spilled, bytes);
}

}  // namespace spill
