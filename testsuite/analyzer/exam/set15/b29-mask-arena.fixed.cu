// Page-locked memory for mask patterns on their way to the exposure simulator. Most requests are served from fixed slabs; what
// does not fit is taken from the system.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <vector>

namespace litho {

inline void ok(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

class PinnedArena {
 public:
  PinnedArena(std::size_t slab_bytes, int slabs) : slab_bytes_(slab_bytes) {
    ok(cudaMallocHost(&base_, slab_bytes * slabs));
    for (int i = 0; i < slabs; ++i) {
      Slab slab;
      slab.ptr = static_cast<std::byte*>(base_) + i * slab_bytes;
      ok(cudaEventCreateWithFlags(&slab.done, cudaEventDisableTiming));
      idle_.push_back(slab);
    }
  }
  ~PinnedArena() {
    for (Slab& slab : idle_) {
      cudaEventSynchronize(slab.done);
      cudaEventDestroy(slab.done);
    }
    cudaFreeHost(base_);
  }
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  void* allocate(std::size_t bytes) {
    if (bytes <= slab_bytes_ && !idle_.empty()) {
      Slab slab = idle_.front();
      idle_.pop_front();
      ok(cudaEventSynchronize(slab.done));
      busy_.push_back(slab);
      return slab.ptr;
    }
    void* ptr = nullptr;
    ok(cudaMallocHost(&ptr, bytes));
    return ptr;
  }

  // The memory is still in use by the work queued in stream.
  void deallocate(void* ptr, cudaStream_t stream) {
    for (auto it = busy_.begin(); it != busy_.end(); ++it) {
      if (it->ptr == ptr) {
        ok(cudaEventRecord(it->done, stream));
        idle_.push_back(*it);
        busy_.erase(it);
        return;
      }
    }
    ok(cudaStreamSynchronize(stream));
    ok(cudaFreeHost(ptr));
  }

 private:
  struct Slab {
    void* ptr = nullptr;
    cudaEvent_t done = nullptr;
  };

  std::size_t slab_bytes_;
  void* base_ = nullptr;
  std::deque<Slab> idle_;
  std::vector<Slab> busy_;
};

template <typename T>
class StagedVector {
 public:
  StagedVector(PinnedArena& arena, std::size_t count, cudaStream_t stream)
      : arena_(arena), count_(count), stream_(stream), data_(static_cast<T*>(arena.allocate(count * sizeof(T)))) {}
  ~StagedVector() { arena_.deallocate(data_, stream_); }
  StagedVector(const StagedVector&) = delete;
  StagedVector& operator=(const StagedVector&) = delete;

  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  PinnedArena& arena_;
  std::size_t count_;
  cudaStream_t stream_;
  T* data_;
};

struct Polygon {
  float x, y, width, height;
};

__global__ void rasterize(const Polygon* polygons, int count, float* aerial, int edge) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= edge) return;
  float dose = 0.f;
  for (int i = 0; i < count; ++i) {
    const Polygon p = polygons[i];
    if (x >= p.x && x < p.x + p.width && y >= p.y && y < p.y + p.height) dose += 1.f;
  }
  aerial[y * edge + x] = dose;
}

class ExposureSimulator {
 public:
  ExposureSimulator(int edge, std::size_t max_polygons) : edge_(edge), max_polygons_(max_polygons), arena_(256 << 10, 8) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMalloc(&polygons_, max_polygons * sizeof(Polygon)));
    ok(cudaMalloc(&aerial_, static_cast<std::size_t>(edge) * edge * sizeof(float)));
  }
  ~ExposureSimulator() {
    cudaStreamSynchronize(stream_);
    cudaFree(aerial_);
    cudaFree(polygons_);
    cudaStreamDestroy(stream_);
  }
  ExposureSimulator(const ExposureSimulator&) = delete;
  ExposureSimulator& operator=(const ExposureSimulator&) = delete;

  // Queues one mask; the aerial image is complete after wait().
  void expose(const std::vector<Polygon>& mask) {
    if (mask.size() > max_polygons_) throw std::length_error("mask");
    StagedVector<Polygon> staged(arena_, mask.size(), stream_);
    std::copy(mask.begin(), mask.end(), staged.begin());
    ok(cudaMemcpyAsync(polygons_, staged.begin(), staged.bytes(), cudaMemcpyHostToDevice, stream_));
    const dim3 grid((edge_ + 127) / 128, edge_);
    rasterize<<<grid, 128, 0, stream_>>>(polygons_, static_cast<int>(mask.size()), aerial_, edge_);
    ok(cudaGetLastError());
  }

  const float* wait() {
    ok(cudaStreamSynchronize(stream_));
    return aerial_;
  }

 private:
  int edge_;
  std::size_t max_polygons_;
  PinnedArena arena_;
  cudaStream_t stream_ = nullptr;
  Polygon* polygons_ = nullptr;
  float* aerial_ = nullptr;
};

}  // namespace litho
