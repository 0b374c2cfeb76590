// Scratch memory for simulation lanes.  A lane is a stream with a cache of blocks; what is freed in a
// lane is handed out again in the same lane without waiting, since the stream keeps the order.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace lanes {

inline void guard(cudaError_t rc, const char* expr) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(expr) + " -> " + cudaGetErrorString(rc));
}
#define GUARD(x) ::lanes::guard((x), #x)

class LaneAllocator {
 public:
  explicit LaneAllocator(int count) : lanes_(count) {
    for (Lane& l : lanes_) GUARD(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
  }

  ~LaneAllocator() {
    for (Lane& l : lanes_) {
      cudaStreamSynchronize(l.stream);
      for (auto& b : l.cache) cudaFree(b.second);
      cudaStreamDestroy(l.stream);
    }
  }

  LaneAllocator(const LaneAllocator&) = delete;
  LaneAllocator& operator=(const LaneAllocator&) = delete;

  cudaStream_t stream(int lane) const { return lanes_[lane].stream; }

  void* allocate(int lane, size_t bytes) {
    auto& cache = lanes_[lane].cache;
    auto hit = cache.lower_bound(bytes);
    if (hit != cache.end() && hit->first < 2 * bytes) {
      void* p = hit->second;
      cache.erase(hit);
      return p;
    }
    void* p = nullptr;
    GUARD(cudaMalloc(&p, bytes));
    return p;
  }

  void deallocate(int lane, void* p, size_t bytes) { lanes_[lane].cache.emplace(bytes, p); }

  // Gives the lane a fresh stream, e.g. with another priority.
  void reprioritize(int lane, int priority) {
    Lane& l = lanes_[lane];
    GUARD(cudaStreamDestroy(l.stream));
    GUARD(cudaStreamCreateWithPriority(&l.stream, cudaStreamNonBlocking, priority));
  }

 private:
  struct Lane {
    cudaStream_t stream{};
    std::multimap<size_t, void*> cache;
  };
  std::vector<Lane> lanes_;
};

// Block of a lane for the length of a scope.
template <typename T>
class LaneArray {
 public:
  LaneArray(LaneAllocator& a, int lane, size_t n) : a_(a), lane_(lane), n_(n) {
    p_ = static_cast<T*>(a_.allocate(lane, n * sizeof(T)));
  }
  ~LaneArray() { a_.deallocate(lane_, p_, n_ * sizeof(T)); }
  LaneArray(const LaneArray&) = delete;
  LaneArray& operator=(const LaneArray&) = delete;
  T* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  LaneAllocator& a_;
  int lane_;
  size_t n_;
  T* p_;
};

__global__ void seedParticles(float3* particles, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = seed + 747796405u * i;
  particles[i] = make_float3((s & 1023) / 1024.f, ((s >> 10) & 1023) / 1024.f, ((s >> 20) & 1023) / 1024.f);
}

__global__ void depositDensity(const float3* particles, float* density, int n, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&density[min(cells - 1, int(particles[i].x * cells))], 1.f);
}

class ParticleCloud {
 public:
  ParticleCloud(LaneAllocator& allocator, int lane, int particles) : a_(allocator), lane_(lane), n_(particles) {}

  // Queues one burst; `density` belongs to the lane.
  void burst(float* density, int cells, unsigned seed) {
    LaneArray<float3> scratch(a_, lane_, n_);
    const int grid = (n_ + 255) / 256;
    seedParticles<<<grid, 256, 0, a_.stream(lane_)>>>(scratch.get(), n_, seed);
    depositDensity<<<grid, 256, 0, a_.stream(lane_)>>>(scratch.get(), density, n_, cells);
    GUARD(cudaGetLastError());
  }

  // A burst with many small seeds, moved to the urgent lane priority half-way.
  void escalate(float* coarse, float* fine, int cells, int priority) {
    burst(coarse, cells, 17u);
    a_.reprioritize(lane_, priority);
    burst(fine, cells, 4711u);
  }

 private:
  LaneAllocator& a_;
  int lane_, n_;
};

}  // namespace lanes
