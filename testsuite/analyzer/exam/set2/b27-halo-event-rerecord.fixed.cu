// Halo fill of a structured grid: each side is packed on a stream of its own.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace ocean {

enum Side { West = 0, East, South, North, kSides };

struct Field {
  float* data;
  int nx, ny, halo;
  __host__ __device__ int pitch() const { return nx + 2 * halo; }
};

__global__ void fill_side(Field f, Side side) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int len = (side == West || side == East) ? f.ny : f.nx;
  if (t >= len) return;
  for (int h = 0; h < f.halo; ++h) {
    int src = 0, dst = 0;
    switch (side) {
      case West:  dst = (t + f.halo) * f.pitch() + h;               src = (t + f.halo) * f.pitch() + f.nx + h; break;
      case East:  dst = (t + f.halo) * f.pitch() + f.nx + f.halo + h; src = (t + f.halo) * f.pitch() + f.halo + h; break;
      case South: dst = h * f.pitch() + t + f.halo;                 src = (f.ny + h) * f.pitch() + t + f.halo; break;
      default:    dst = (f.ny + f.halo + h) * f.pitch() + t + f.halo; src = (f.halo + h) * f.pitch() + t + f.halo; break;
    }
    f.data[dst] = f.data[src];
  }
}

__global__ void diffuse(Field in, Field out, float kappa) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
  if (i >= in.nx) return;
  int c = (j + in.halo) * in.pitch() + i + in.halo;
  out.data[c] = in.data[c] + kappa * (in.data[c - 1] + in.data[c + 1] + in.data[c - in.pitch()] +
                                      in.data[c + in.pitch()] - 4.f * in.data[c]);
}

#define CHECKED(stmt)                                                        \
  {                                                                          \
    cudaError_t s_ = stmt;                                                   \
    if (s_ != cudaSuccess) { std::printf("cuda error %d\n", s_); std::abort(); } \
  }

class HaloFiller {
 public:
  HaloFiller() {
    for (auto& s : streams_) CHECKED(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECKED(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    CHECKED(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
  }
  ~HaloFiller() {
    for (auto& s : streams_) cudaStreamDestroy(s);
    cudaEventDestroy(packed_);
    cudaEventDestroy(begin_);
  }

  void fill(const Field& f, cudaStream_t main) {
    CHECKED(cudaEventRecord(begin_, main));
    for (int side = 0; side < kSides; ++side) {
      cudaStream_t s = streams_[side];
      CHECKED(cudaStreamWaitEvent(s, begin_, 0));
      int len = side < South ? f.ny : f.nx;
      fill_side<<<(len + 63) / 64, 64, 0, s>>>(f, static_cast<Side>(side));
      CHECKED(cudaEventRecord(packed_, s));
      CHECKED(cudaStreamWaitEvent(main, packed_, 0));
    }
  }

 private:
  std::array<cudaStream_t, kSides> streams_{};
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t packed_ = nullptr;
};

void integrate(Field a, Field b, float kappa, int steps, cudaStream_t main) {
  HaloFiller filler;
  for (int s = 0; s < steps; ++s) {
    filler.fill(a, main);
    diffuse<<<dim3((a.nx + 127) / 128, a.ny), 128, 0, main>>>(a, b, kappa);
    CHECKED(cudaGetLastError());
    Field t = a; a = b; b = t;
  }
  CHECKED(cudaStreamSynchronize(main));
}

}  // namespace ocean
