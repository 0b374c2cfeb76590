// Proxy generation for the editor: surfaces come from a pool that remembers
// the last use of every surface; clients read them on their own streams.
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace proxy {

#define PROXY_CUDA(x)                                                                         \
  do {                                                                                        \
    const cudaError_t rc = (x);                                                               \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#x) + cudaGetErrorString(rc)); \
  } while (false)

__global__ void downscale(const uchar4* frame, int width, int height, uchar4* surface) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < width / 2 && y < height / 2) surface[y * (width / 2) + x] = frame[2 * y * width + 2 * x];
}

class SurfacePool {
 public:
  SurfacePool(std::size_t bytes, int n) : surfaces_(n) {
    for (int i = 0; i < n; ++i) {
      PROXY_CUDA(cudaMalloc(reinterpret_cast<void**>(&surfaces_[i].pixels), bytes));
      PROXY_CUDA(cudaEventCreateWithFlags(&surfaces_[i].last_use, cudaEventDisableTiming));
      free_.push_back(i);
    }
  }
  ~SurfacePool() {
    cudaDeviceSynchronize();
    for (auto& s : surfaces_) {
      cudaFree(s.pixels);
      cudaEventDestroy(s.last_use);
    }
  }
  SurfacePool(const SurfacePool&) = delete;
  SurfacePool& operator=(const SurfacePool&) = delete;

  /// A lease gives its surface back at the end of scope.
  class Lease {
   public:
    Lease(SurfacePool& pool, int index, cudaStream_t stream) : pool_(&pool), index_(index), stream_(stream) {}
    Lease(Lease&& o) noexcept : pool_(std::exchange(o.pool_, nullptr)), index_(o.index_), stream_(o.stream_) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_) pool_->give_back(index_, stream_);
    }
    uchar4* pixels() const { return pool_->surfaces_[index_].pixels; }
    /// The surface will be used last on `stream`, after the work so far.
    void hand_to(cudaStream_t stream) {
      cudaEvent_t handed = pool_->surfaces_[index_].last_use;
      PROXY_CUDA(cudaEventRecord(handed, stream_));
      PROXY_CUDA(cudaStreamWaitEvent(stream, handed, 0));
      stream_ = stream;
    }

   private:
    SurfacePool* pool_;
    int index_;
    cudaStream_t stream_;
  };

  Lease acquire(cudaStream_t stream) {
    if (free_.empty()) throw std::runtime_error("no free surface");
    const int i = free_.front();
    free_.pop_front();
    PROXY_CUDA(cudaStreamWaitEvent(stream, surfaces_[i].last_use, 0));
    return Lease(*this, i, stream);
  }

 private:
  struct Surface {
    uchar4* pixels = nullptr;
    cudaEvent_t last_use = nullptr;
  };

  void give_back(int index, cudaStream_t stream) {
    cudaEventRecord(surfaces_[index].last_use, stream);
    free_.push_back(index);
  }

  std::vector<Surface> surfaces_;
  std::deque<int> free_;
};

class ProxyWriter {
 public:
  ProxyWriter(int width, int height) : width_(width), height_(height), pool_(bytes(), 2) {
    PROXY_CUDA(cudaStreamCreateWithFlags(&scale_, cudaStreamNonBlocking));
  }
  ~ProxyWriter() {
    cudaStreamSynchronize(scale_);
    cudaStreamDestroy(scale_);
  }
  ProxyWriter(const ProxyWriter&) = delete;
  ProxyWriter& operator=(const ProxyWriter&) = delete;

  std::size_t bytes() const { return sizeof(uchar4) * (width_ / 2) * (height_ / 2); }

  /// `frame` is constant device memory; `destination` is used on `user`.
  void write(const uchar4* frame, void* destination, cudaStream_t user) {
    SurfacePool::Lease lease = pool_.acquire(scale_);
    const dim3 grid((width_ / 2 + 127) / 128, height_ / 2);
    downscale<<<grid, 128, 0, scale_>>>(frame, width_, height_, lease.pixels());
    PROXY_CUDA(cudaGetLastError());
    lease.hand_to(user);
    PROXY_CUDA(cudaMemcpyAsync(destination, lease.pixels(), bytes(), cudaMemcpyDeviceToDevice, user));
  }

 private:
  int width_, height_;
  SurfacePool pool_;
  cudaStream_t scale_ = nullptr;
};

/// Writes the proxies of `frames` equal frames one after the other.
void write_clip(const uchar4* frame, uchar4* clip, int frames, int width, int height) {
  cudaStream_t user = nullptr;
  PROXY_CUDA(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking));
  ProxyWriter writer(width, height);
  const std::size_t pixels = static_cast<std::size_t>(width / 2) * (height / 2);
  for (int f = 0; f < frames; ++f) writer.write(frame, clip + f * pixels, user);
  PROXY_CUDA(cudaStreamSynchronize(user));
  PROXY_CUDA(cudaStreamDestroy(user));
}

}  // namespace proxy
