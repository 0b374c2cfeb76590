// Finite-volume shallow-water update on a tiled grid. Per-tile kernels rotate
// over a ring of streams; whole-grid kernels run on the ring's main stream.
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace swe {

inline void must(cudaError_t e, const char* expr) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(expr) + " -> " + cudaGetErrorName(e));
}
#define MUST(x) ::swe::must((x), #x)

struct Box { int x0, y0, nx, ny; };

struct Fields {
  int nx, ny;
  float *h, *hu, *hv;       // conserved
  float *u, *v;             // primitive
  float *dh, *dhu, *dhv;    // tendencies
};

class StreamRing {
 public:
  explicit StreamRing(int n) : lanes_(n), done_(n) {
    MUST(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    for (int i = 0; i < n; ++i) {
      MUST(cudaStreamCreateWithFlags(&lanes_[i], cudaStreamNonBlocking));
      MUST(cudaEventCreateWithFlags(&done_[i], cudaEventDisableTiming));
    }
  }
  ~StreamRing() {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      cudaStreamDestroy(lanes_[i]);
      cudaEventDestroy(done_[i]);
    }
    cudaEventDestroy(start_);
    cudaStreamDestroy(main_);
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;

  cudaStream_t main() const { return main_; }
  cudaStream_t lane(size_t i) const { return lanes_[i % lanes_.size()]; }

  // Lanes continue after what is queued on main.
  void fork() {
    MUST(cudaEventRecord(start_, main_));
    for (cudaStream_t s : lanes_) MUST(cudaStreamWaitEvent(s, start_, 0));
  }
  // Main continues after what is queued on the lanes.
  void join() {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      MUST(cudaEventRecord(done_[i], lanes_[i]));
      MUST(cudaStreamWaitEvent(main_, done_[i], 0));
    }
  }

 private:
  cudaStream_t main_ = nullptr;
  cudaEvent_t start_ = nullptr;
  std::vector<cudaStream_t> lanes_;
  std::vector<cudaEvent_t> done_;
};

__global__ void toPrimitive(Fields f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= f.nx * f.ny) return;
  float h = fmaxf(f.h[i], 1e-6f);
  f.u[i] = f.hu[i] / h;
  f.v[i] = f.hv[i] / h;
}

__global__ void tileTendency(Fields f, Box b) {
  int x = b.x0 + blockIdx.x * blockDim.x + threadIdx.x;
  int y = b.y0 + blockIdx.y;
  if (x >= b.x0 + b.nx || x <= 0 || x >= f.nx - 1 || y <= 0 || y >= f.ny - 1) return;
  int i = y * f.nx + x;
  f.dh[i] = -0.5f * (f.hu[i + 1] - f.hu[i - 1] + f.hv[i + f.nx] - f.hv[i - f.nx]);
  f.dhu[i] = -0.5f * (f.hu[i + 1] * f.u[i + 1] - f.hu[i - 1] * f.u[i - 1]);
  f.dhv[i] = -0.5f * (f.hv[i + f.nx] * f.v[i + f.nx] - f.hv[i - f.nx] * f.v[i - f.nx]);
}

__global__ void tileUpdate(Fields f, Box b, float dt) {
  int x = b.x0 + blockIdx.x * blockDim.x + threadIdx.x;
  int y = b.y0 + blockIdx.y;
  if (x >= b.x0 + b.nx || x <= 0 || x >= f.nx - 1 || y <= 0 || y >= f.ny - 1) return;
  int i = y * f.nx + x;
  f.h[i] += dt * f.dh[i];
  f.hu[i] += dt * f.dhu[i];
  f.hv[i] += dt * f.dhv[i];
}

// The fields are filled, and the device is idle, when the integrator is made.
class Integrator {
 public:
  Integrator(Fields f, std::vector<Box> tiles) : f_(f), tiles_(std::move(tiles)), ring_(4) {}
  ~Integrator() { cudaStreamSynchronize(ring_.main()); }

  void run(int steps, float dt) {
    for (int s = 0; s < steps; ++s) {
      tendencies();
      advance(dt);
    }
    MUST(cudaStreamSynchronize(ring_.main()));
  }

 private:
  template <class Fn>
  void forEachTile(Fn&& fn) {
    for (size_t t = 0; t < tiles_.size(); ++t) {
      const Box& b = tiles_[t];
      fn(b, dim3((b.nx + 63) / 64, b.ny), ring_.lane(t));
    }
    MUST(cudaGetLastError());
  }

  void tendencies() {
    const int n = f_.nx * f_.ny;
    toPrimitive<<<(n + 255) / 256, 256, 0, ring_.main()>>>(f_);
    forEachTile([&](const Box& b, dim3 grid, cudaStream_t s) {
      tileTendency<<<grid, 64, 0, s>>>(f_, b);
    });
    ring_.join();
  }

  void advance(float dt) {
    ring_.fork();
    forEachTile([&](const Box& b, dim3 grid, cudaStream_t s) {
      tileUpdate<<<grid, 64, 0, s>>>(f_, b, dt);
    });
    ring_.join();
  }

  Fields f_;
  std::vector<Box> tiles_;
  StreamRing ring_;
};

}  // namespace swe
