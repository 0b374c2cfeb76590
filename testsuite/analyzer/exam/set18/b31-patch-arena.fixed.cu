// Explicit heat solver on a block-structured mesh. Scratch for the face fluxes
// of a patch comes from an arena; patches rotate over a few streams.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace amr {

inline void ck(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Arena;

// Block of the arena, given back when the lease goes out of scope.
class Lease {
 public:
  Lease(Arena& a, void* p, std::size_t bytes) : arena_(&a), ptr_(p), bytes_(bytes) {}
  Lease(Lease&& o) noexcept : arena_(std::exchange(o.arena_, nullptr)), ptr_(o.ptr_), bytes_(o.bytes_) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease();
  template <class T> T* as() const { return static_cast<T*>(ptr_); }

 private:
  Arena* arena_;
  void* ptr_;
  std::size_t bytes_;
};

class Arena {
 public:
  ~Arena() {
    cudaDeviceSynchronize();
    for (auto& kv : idle_) cudaFree(kv.second);
  }

  Lease take(std::size_t bytes) {
    bytes = (bytes + 511) / 512 * 512;
    std::lock_guard<std::mutex> lock(mu_);
    auto it = idle_.lower_bound(bytes);
    if (it != idle_.end()) {
      Lease lease(*this, it->second, it->first);
      idle_.erase(it);
      return lease;
    }
    void* p = nullptr;
    ck(cudaMalloc(&p, bytes));
    return Lease(*this, p, bytes);
  }

 private:
  friend class Lease;
  void giveBack(void* p, std::size_t bytes) {
    std::lock_guard<std::mutex> lock(mu_);
    idle_.emplace(bytes, p);
  }

  std::mutex mu_;
  std::multimap<std::size_t, void*> idle_;
};

Lease::~Lease() {
  if (arena_) arena_->giveBack(ptr_, bytes_);
}

struct Patch {
  int nx, ny;
  double* temp;         // (nx + 2) * (ny + 2), ghosts filled
  const double* kappa;  // same shape
};

__global__ void faceFlux(Patch p, double* flux) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i > p.nx) return;
  int w = p.nx + 2, c = (j + 1) * w + i;
  double k = 0.5 * (p.kappa[c] + p.kappa[c + 1]);
  flux[j * (p.nx + 1) + i] = k * (p.temp[c + 1] - p.temp[c]);
}

__global__ void divergence(Patch p, const double* flux, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i >= p.nx) return;
  const double* row = flux + j * (p.nx + 1);
  p.temp[(j + 1) * (p.nx + 2) + i + 1] += dt * (row[i + 1] - row[i]);
}

class HeatLevel {
 public:
  HeatLevel(Arena& arena, std::vector<Patch> patches, int lanes) : arena_(arena), patches_(std::move(patches)) {
    for (int i = 0; i < lanes; ++i) {
      cudaStream_t s;
      ck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
      lanes_.push_back(s);
    }
  }
  ~HeatLevel() {
    for (cudaStream_t s : lanes_) cudaStreamDestroy(s);
  }
  HeatLevel(const HeatLevel&) = delete;
  HeatLevel& operator=(const HeatLevel&) = delete;

  // Advances all patches by one step and waits for them.
  void advance(double dt) {
    std::vector<Lease> held;
    for (std::size_t n = 0; n < patches_.size(); ++n)
      held.push_back(advancePatch(patches_[n], dt, lanes_[n % lanes_.size()]));
    for (cudaStream_t s : lanes_) ck(cudaStreamSynchronize(s));
  }

 private:
  Lease advancePatch(const Patch& p, double dt, cudaStream_t s) {
    Lease scratch = arena_.take(sizeof(double) * (p.nx + 1) * p.ny);
    dim3 grid((p.nx + 1 + 63) / 64, p.ny);
    faceFlux<<<grid, 64, 0, s>>>(p, scratch.as<double>());
    divergence<<<grid, 64, 0, s>>>(p, scratch.as<double>(), dt);
    ck(cudaGetLastError());
    return scratch;
  }

  Arena& arena_;
  std::vector<Patch> patches_;
  std::vector<cudaStream_t> lanes_;
};

}  // namespace amr
