// Device block cache of a clip transcoder. Blocks that were released on a stream are handed
// out again on that stream without any synchronisation; idle blocks of other streams are only
// taken after the device has been drained.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace clip {

inline void expect(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() {
    cudaDeviceSynchronize();
    for (auto& [stream, blocks] : idle_)
      for (auto& [bytes, block] : blocks) cudaFree(block);
  }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  void* take(std::size_t bytes, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto mine = idle_.find(stream);
    if (mine != idle_.end()) {
      auto it = mine->second.lower_bound(bytes);
      if (it != mine->second.end()) {
        void* block = it->second;
        sizes_[block] = it->first;
        mine->second.erase(it);
        return block;
      }
    }
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      release_idle();
      expect(cudaMalloc(&block, bytes), "cudaMalloc");
    }
    sizes_[block] = bytes;
    return block;
  }

  // `stream` is the stream of the last use.
  void give(void* block, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto size = sizes_.find(block);
    idle_[stream].emplace(size->second, block);
    sizes_.erase(size);
  }

 private:
  void release_idle() {
    expect(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (auto& [stream, blocks] : idle_)
      for (auto& [bytes, block] : blocks) expect(cudaFree(block), "cudaFree");
    idle_.clear();
  }

  std::mutex mutex_;
  std::unordered_map<cudaStream_t, std::multimap<std::size_t, void*>> idle_;
  std::unordered_map<void*, std::size_t> sizes_;
};

BlockCache& blocks() {
  static BlockCache cache;
  return cache;
}

// Stream that lives as long as one clip.
class ClipStream {
 public:
  ClipStream() {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  ~ClipStream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  ClipStream(const ClipStream&) = delete;
  ClipStream& operator=(const ClipStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <typename T>
class Scratch {
 public:
  Scratch(std::size_t n, cudaStream_t stream)
      : stream_(stream), p_(static_cast<T*>(blocks().take(n * sizeof(T), stream))) {}
  ~Scratch() { blocks().give(p_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return p_; }

 private:
  cudaStream_t stream_;
  T* p_;
};

__global__ void to_luma(const std::uint8_t* __restrict__ rgb, float* __restrict__ luma, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels)
    luma[i] = 0.2126f * rgb[3 * i] + 0.7152f * rgb[3 * i + 1] + 0.0722f * rgb[3 * i + 2];
}

__global__ void tone_map(const float* __restrict__ luma, std::uint8_t* __restrict__ out, int pixels,
                         float exposure) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) out[i] = static_cast<std::uint8_t>(255.f * luma[i] / (luma[i] + exposure));
}

// Queues the conversion of one clip. `done` fires when `out` holds the result; `rgb` and `out`
// are device buffers of the caller and stay valid until then.
void transcode_clip(const std::uint8_t* rgb, std::uint8_t* out, int pixels, int frames, float exposure,
                    cudaEvent_t done) {
  ClipStream stream;
  {
    Scratch<float> luma(pixels, stream);
    const int grid = (pixels + 255) / 256;
    for (int f = 0; f < frames; ++f) {
      const std::size_t at = static_cast<std::size_t>(f) * pixels;
      to_luma<<<grid, 256, 0, stream>>>(rgb + 3 * at, luma.get(), pixels);
      tone_map<<<grid, 256, 0, stream>>>(luma.get(), out + at, pixels, exposure);
    }
    expect(cudaGetLastError(), "transcode");
  }
  expect(cudaEventRecord(done, stream), "cudaEventRecord");
}

}  // namespace clip
