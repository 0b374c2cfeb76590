// Portable pinned slabs for the column scanner. One depot serves the streams of
// all GPUs: a scan thread takes a slab, fills it, starts the upload and retires
// the slab at once.

#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace scan {

inline void guard(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Slab {
  char* bytes = nullptr;
  cudaEvent_t drained = nullptr;
};

class SlabDepot {
 public:
  SlabDepot(std::size_t slabs, std::size_t slab_bytes) : slab_bytes_(slab_bytes), slabs_(slabs) {
    for (Slab& s : slabs_) {
      guard(cudaHostAlloc(&s.bytes, slab_bytes, cudaHostAllocPortable));
      guard(cudaEventCreateWithFlags(&s.drained, cudaEventDisableTiming));
      shelf_.push_back(&s);
    }
  }
  ~SlabDepot() {
    int devices = 0;
    int previous = 0;
    cudaGetDevice(&previous);
    cudaGetDeviceCount(&devices);
    for (int d = 0; d < devices; ++d) {
      cudaSetDevice(d);
      cudaDeviceSynchronize();
    }
    cudaSetDevice(previous);
    for (Slab& s : slabs_) {
      cudaEventDestroy(s.drained);
      cudaFreeHost(s.bytes);
    }
  }
  SlabDepot(const SlabDepot&) = delete;
  SlabDepot& operator=(const SlabDepot&) = delete;

  std::size_t slab_bytes() const { return slab_bytes_; }

  // A slab that the host may write.
  Slab* take() {
    Slab* s = nullptr;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      stocked_.wait(lock, [this] { return !shelf_.empty(); });
      s = shelf_.front();
      shelf_.pop_front();
    }
    guard(cudaEventSynchronize(s->drained));
    return s;
  }

  // Puts the slab back; copies from it may still be queued on `stream`, a
  // stream of the current device.
  void retire(Slab* s, cudaStream_t stream) noexcept {
    cudaEventRecord(s->drained, stream);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      shelf_.push_back(s);
    }
    stocked_.notify_one();
  }

 private:
  std::size_t slab_bytes_;
  std::vector<Slab> slabs_;
  std::deque<Slab*> shelf_;
  std::mutex mutex_;
  std::condition_variable stocked_;
};

// Uploads one column into device memory of `device`, slab by slab.
class ColumnLoader {
 public:
  ColumnLoader(SlabDepot& depot, int device) : depot_(depot), device_(device) {
    guard(cudaSetDevice(device_));
    guard(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~ColumnLoader() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  ColumnLoader(const ColumnLoader&) = delete;
  ColumnLoader& operator=(const ColumnLoader&) = delete;

  cudaStream_t stream() const { return stream_; }

  void load(const char* column, std::size_t bytes, char* target) {
    guard(cudaSetDevice(device_));
    for (std::size_t at = 0; at < bytes; at += depot_.slab_bytes()) {
      const std::size_t n = bytes - at < depot_.slab_bytes() ? bytes - at : depot_.slab_bytes();
      Slab* s = depot_.take();
      std::memcpy(s->bytes, column + at, n);
      send(*s, target + at, n);
      depot_.retire(s, stream_);
    }
  }

 private:
  void send(const Slab& s, char* target, std::size_t n) {
    guard(cudaMemcpyAsync(target, s.bytes, n, cudaMemcpyHostToDevice, stream_));
  }

  SlabDepot& depot_;
  int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace scan
