// Tiled hydro update with scratch boxes from a caching arena.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace hydro {

inline void require(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "hydro: %s\n", cudaGetErrorString(e));
    std::exit(1);
  }
}

class Arena {
 public:
  static Arena& instance() {
    static Arena a;
    return a;
  }
  void* alloc(std::size_t bytes) {
    auto it = free_.lower_bound(bytes);
    if (it != free_.end() && it->first <= 2 * bytes) {
      void* p = it->second;
      live_[p] = it->first;
      free_.erase(it);
      return p;
    }
    void* p = nullptr;
    require(cudaMalloc(&p, bytes));
    live_[p] = bytes;
    return p;
  }
  void release(void* p) {
    auto it = live_.find(p);
    free_.emplace(it->second, p);
    live_.erase(it);
  }
  void purge() {
    for (auto& kv : free_) cudaFree(kv.second);
    free_.clear();
  }

 private:
  std::multimap<std::size_t, void*> free_;
  std::map<void*, std::size_t> live_;
};

struct Tile {
  int nx, ny;
  int level_boundary;
  int cells() const { return nx * ny; }
};

class Fab {
 public:
  Fab(const Tile& t, int comps)
      : data_(static_cast<double*>(Arena::instance().alloc(sizeof(double) * t.cells() * comps))) {}
  ~Fab() { Arena::instance().release(data_); }
  Fab(const Fab&) = delete;
  Fab& operator=(const Fab&) = delete;
  double* array() const { return data_; }

 private:
  double* data_;
};

class StreamSet {
 public:
  explicit StreamSet(int n) : s_(n) {
    for (auto& s : s_) require(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~StreamSet() {
    for (auto s : s_) cudaStreamDestroy(s);
  }
  cudaStream_t at(std::size_t i) const { return s_[i % s_.size()]; }
  void wait_all() const {
    for (auto s : s_) require(cudaStreamSynchronize(s));
  }

 private:
  std::vector<cudaStream_t> s_;
};

__global__ void compute_flux(const double* u, double* flux, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flux[i] = 0.5 * u[i] * u[i];
}
__global__ void compute_divergence(const double* flux, double* divc, int n, double idx) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) divc[i] = (flux[i] - flux[i ? i - 1 : n - 1]) * idx;
}
__global__ void redistribute(const double* divc, double* rhs, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rhs[i] -= 0.25 * (divc[i] + 3.0 * divc[(i + 1) % n]);
}
__global__ void fine_register(const double* flux, double* reg, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reg[i] += flux[i];
}

class Level {
 public:
  explicit Level(std::vector<Tile> tiles) : tiles_(std::move(tiles)), streams_(4) {
    for (const Tile& t : tiles_) {
      double *u, *rhs, *reg;
      require(cudaMalloc(&u, sizeof(double) * t.cells()));
      require(cudaMalloc(&rhs, sizeof(double) * t.cells()));
      require(cudaMalloc(&reg, sizeof(double) * t.cells()));
      require(cudaMemset(u, 0, sizeof(double) * t.cells()));
      require(cudaMemset(rhs, 0, sizeof(double) * t.cells()));
      require(cudaMemset(reg, 0, sizeof(double) * t.cells()));
      u_.push_back(u);
      rhs_.push_back(rhs);
      reg_.push_back(reg);
    }
    require(cudaDeviceSynchronize());
  }
  ~Level() {
    for (auto* v : {&u_, &rhs_, &reg_})
      for (double* p : *v) cudaFree(p);
  }

  void advance(double idx) {
    for (std::size_t i = 0; i < tiles_.size(); ++i) update_tile(i, idx, streams_.at(i));
    streams_.wait_all();
  }

 private:
  void update_tile(std::size_t i, double idx, cudaStream_t s) {
    const Tile& t = tiles_[i];
    const int n = t.cells(), grid = (n + 127) / 128;
    Fab flux(t, 1);
    Fab divc(t, 1);
    compute_flux<<<grid, 128, 0, s>>>(u_[i], flux.array(), n);
    compute_divergence<<<grid, 128, 0, s>>>(flux.array(), divc.array(), n, idx);
    redistribute<<<grid, 128, 0, s>>>(divc.array(), rhs_[i], n);
    if (t.level_boundary) {
      fine_register<<<grid, 128, 0, s>>>(flux.array(), reg_[i], n);
    }
    require(cudaGetLastError());
    require(cudaStreamSynchronize(s));
  }

  std::vector<Tile> tiles_;
  StreamSet streams_;
  std::vector<double*> u_, rhs_, reg_;
};

}  // namespace hydro

int main() {
  {
    hydro::Level lev({{256, 256, 0}, {256, 256, 1}, {256, 256, 0}, {256, 256, 0}, {256, 256, 0}});
    for (int s = 0; s < 100; ++s) lev.advance(128.0);
  }
  hydro::Arena::instance().purge();
}
