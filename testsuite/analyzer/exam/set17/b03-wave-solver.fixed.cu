// Acoustic wave propagation on a 2-D section.  The interior is updated on the main
// stream; the absorbing strips and the free-surface coefficients run beside it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CU(call)                                                                     \
  do {                                                                               \
    cudaError_t rc_ = (call);                                                        \
    if (rc_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

__global__ void stencil(const float* cur, const float* prev, float* next, int nx, int z0, int z1) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int z = z0 + blockIdx.y;
  if (x < 1 || x >= nx - 1 || z >= z1) return;
  int c = z * nx + x;
  float lap = cur[c - 1] + cur[c + 1] + cur[c - nx] + cur[c + nx] - 4.0f * cur[c];
  next[c] = 2.0f * cur[c] - prev[c] + 0.2f * lap;
}

__global__ void absorb(const float* cur, float* next, int nx, int z0, int z1, float keep) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int z = z0 + blockIdx.y;
  if (x < nx && z < z1) next[z * nx + x] = keep * cur[z * nx + x];
}

__global__ void surfaceTerm(const float* cur, float* term, int nx, float t) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < nx) term[x] = 0.5f * cur[nx + x] + 0.01f * sinf(t + 0.1f * x);
}

__global__ void applySurface(float* next, const float* term, int nx, int row) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < nx) next[row * nx + x] += term[x];
}

struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  Lane() {
    CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CU(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~Lane() {
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  void finish() { CU(cudaEventRecord(done, stream)); }
};

class WaveSolver {
 public:
  WaveSolver(int nx, int nz) : nx_(nx), nz_(nz) {
    const size_t bytes = sizeof(float) * nx_ * nz_;
    for (float** p : {&prev_, &cur_, &next_}) {
      CU(cudaMalloc(reinterpret_cast<void**>(p), bytes));
      CU(cudaMemsetAsync(*p, 0, bytes, main_.stream));
    }
    CU(cudaMalloc(reinterpret_cast<void**>(&term_), sizeof(float) * nx_));
  }
  ~WaveSolver() {
    cudaDeviceSynchronize();
    for (float* p : {prev_, cur_, next_, term_}) cudaFree(p);
  }

  void step(float t) {
    fork();
    launchStrips();
    launchSurface(t);
    launchInterior();
    join();
    applySurface<<<cols(), 128, 0, main_.stream>>>(next_, term_, nx_, kStrip);
    CU(cudaGetLastError());
    std::swap(prev_, cur_);
    std::swap(cur_, next_);
  }

  std::vector<float> field() {
    std::vector<float> host(static_cast<size_t>(nx_) * nz_);
    CU(cudaMemcpyAsync(host.data(), cur_, host.size() * sizeof(float), cudaMemcpyDeviceToHost,
                       main_.stream));
    CU(cudaStreamSynchronize(main_.stream));
    return host;
  }

 private:
  static constexpr int kStrip = 8;
  unsigned cols() const { return (nx_ + 127) / 128; }

  void fork() {
    main_.finish();
    for (Lane* lane : {&top_, &bottom_, &surface_}) CU(cudaStreamWaitEvent(lane->stream, main_.done, 0));
  }

  void join() {
    for (Lane* lane : {&top_, &bottom_, &surface_}) {
      lane->finish();
      CU(cudaStreamWaitEvent(main_.stream, lane->done, 0));
    }
  }

  void launchStrips() {
    const dim3 grid(cols(), kStrip);
    absorb<<<grid, 128, 0, top_.stream>>>(cur_, next_, nx_, 0, kStrip, 0.96f);
    CU(cudaGetLastError());
    absorb<<<grid, 128, 0, bottom_.stream>>>(cur_, next_, nx_, nz_ - kStrip, nz_, 0.96f);
    CU(cudaGetLastError());
  }

  void launchSurface(float t) {
    surfaceTerm<<<cols(), 128, 0, surface_.stream>>>(cur_, term_, nx_, t);
    CU(cudaGetLastError());
  }

  void launchInterior() {
    const dim3 grid(cols(), nz_ - 2 * kStrip);
    stencil<<<grid, 128, 0, main_.stream>>>(cur_, prev_, next_, nx_, kStrip, nz_ - kStrip);
    CU(cudaGetLastError());
  }

  int nx_, nz_;
  Lane main_, top_, bottom_, surface_;
  float *prev_ = nullptr, *cur_ = nullptr, *next_ = nullptr, *term_ = nullptr;
};

int main() {
  WaveSolver solver(1024, 512);
  for (int i = 0; i < 200; ++i) solver.step(0.05f * i);
  const std::vector<float> field = solver.field();
  std::printf("%f\n", field[512 * 256]);
  return 0;
}
