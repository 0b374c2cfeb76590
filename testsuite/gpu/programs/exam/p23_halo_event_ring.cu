// Halo regions of an ocean model are filled on one stream per side; events come from a small ring.
// Modelled on Oceananigans#5803.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kInterior = 1 << 15, kHalo = 1 << 12, kSides = 4;

template <int N>
class EventRing {
 public:
  EventRing() {
    for (auto& e : ring_) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~EventRing() {
    for (auto e : ring_) cudaEventDestroy(e);
  }
  cudaEvent_t record_next(cudaStream_t s) {
    cudaEvent_t e = ring_[next_];
    next_ = (next_ + 1) % N;
    CK(cudaEventRecord(e, s));
    return e;
  }

 private:
  std::array<cudaEvent_t, N> ring_{};
  int next_ = 0;
};

__global__ void fill_halo_region(float* halo, const float* interior, int side, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kHalo) return;
  float v = interior[(i * (side + 1)) % kInterior];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.99999f, 1e-5f);
  halo[i] = v;
}
__global__ void step_interior(float* interior, const float* w, const float* e, const float* s, const float* n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kInterior) return;
  int h = i % kHalo;
  interior[i] = 0.5f * interior[i] + 0.125f * (w[h] + e[h] + s[h] + n[h]);
}

class HydrostaticModel {
 public:
  HydrostaticModel() {
    CK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    CK(cudaMalloc(&interior_, kInterior * sizeof(float)));
    CK(cudaMemsetAsync(interior_, 0, kInterior * sizeof(float), main_));
    for (int s = 0; s < kSides; ++s) {
      CK(cudaStreamCreateWithFlags(&side_[s], cudaStreamNonBlocking));
      CK(cudaMalloc(&halo_[s], kHalo * sizeof(float)));
    }
  }
  ~HydrostaticModel() {
    cudaDeviceSynchronize();
    cudaFree(interior_), cudaStreamDestroy(main_), cudaEventDestroy(stepped_);
    for (int s = 0; s < kSides; ++s) cudaFree(halo_[s]), cudaStreamDestroy(side_[s]);
  }
  void time_step() {
    CK(cudaEventRecord(stepped_, main_));
    std::vector<cudaEvent_t> pending;
    for (int s = 0; s < kSides; ++s) {
      CK(cudaStreamWaitEvent(side_[s], stepped_, 0));
      fill_halo_region<<<kHalo / 128, 128, 0, side_[s]>>>(halo_[s], interior_, s, 60000 * (kSides - s));
      CK(cudaGetLastError());
      pending.push_back(ring_.record_next(side_[s]));
    }
    for (cudaEvent_t e : pending) CK(cudaStreamWaitEvent(main_, e, 0));
    step_interior<<<kInterior / 256, 256, 0, main_>>>(interior_, halo_[0], halo_[1], halo_[2], halo_[3]);
    CK(cudaGetLastError());
  }
  float probe() {
    float h;
    CK(cudaStreamSynchronize(main_));
    CK(cudaMemcpy(&h, interior_ + 9, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
#ifdef FIXED
  EventRing<kSides> ring_;
#else
  EventRing<2> ring_;
#endif
  cudaStream_t main_{}, side_[kSides]{};
  cudaEvent_t stepped_{};
  float *interior_{}, *halo_[kSides]{};
};

int main() {
  HydrostaticModel model;
  for (int i = 0; i < 5; ++i) model.time_step();
  std::printf("T[9] = %g\n", model.probe());
  return 0;
}
