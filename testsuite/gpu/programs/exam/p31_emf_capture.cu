// Constrained-transport step captured once: flux and EMF kernels of the directions are spread over two streams.
// Modelled on quokka-astro/quokka#1263.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kCells = 1 << 15;

template <class F>
__global__ void ParallelFor(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
struct Reconstruct {
  const float* b;
  float* flux;
  int work;
  __device__ void operator()(int i) const {
    float v = b[i];
    for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 2e-4f);
    flux[i] = v;
  }
};
struct ComputeEMF {
  const float* fluxX;
  const float* fluxY;
  float* emf;
  int n;
  __device__ void operator()(int i) const { emf[i] = fluxX[i] - fluxX[(i + 1) % n] + fluxY[i]; }
};
struct UpdateB {
  float* b;
  const float* emf;
  __device__ void operator()(int i) const { b[i] += 0.01f * emf[i]; }
};

class ForkJoin {
 public:
  ForkJoin() {
    CK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    for (auto& s : lane_) CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (auto* e : {&fork_, &x_done_, &join_[0], &join_[1]}) CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  }
  ~ForkJoin() {
    for (auto e : {fork_, x_done_, join_[0], join_[1]}) cudaEventDestroy(e);
    for (auto s : {lane_[0], lane_[1], main_}) cudaStreamDestroy(s);
  }
  void fork() {
    CK(cudaEventRecord(fork_, main_));
    for (auto s : lane_) CK(cudaStreamWaitEvent(s, fork_, 0));
  }
  void join() {
    for (int l = 0; l < 2; ++l) {
      CK(cudaEventRecord(join_[l], lane_[l]));
      CK(cudaStreamWaitEvent(main_, join_[l], 0));
    }
  }
  void order(int before, int after) {
    CK(cudaEventRecord(x_done_, lane_[before]));
    CK(cudaStreamWaitEvent(lane_[after], x_done_, 0));
  }
  cudaStream_t main() const { return main_; }
  cudaStream_t lane(int l) const { return lane_[l]; }

 private:
  cudaStream_t main_{}, lane_[2]{};
  cudaEvent_t fork_{}, x_done_{}, join_[2]{};
};

int main() {
  constexpr int grid = kCells / 128;
  ForkJoin fj;
  float *b, *fx, *fy, *emf;
  for (auto** p : {&b, &fx, &fy, &emf}) {
    CK(cudaMalloc(p, kCells * sizeof(float)));
    CK(cudaMemsetAsync(*p, 0, kCells * sizeof(float), fj.main()));
  }
  CK(cudaStreamSynchronize(fj.main()));

  cudaGraph_t graph;
  cudaGraphExec_t step;
  CK(cudaStreamBeginCapture(fj.main(), cudaStreamCaptureModeGlobal));
  fj.fork();
  ParallelFor<<<grid, 128, 0, fj.lane(0)>>>(kCells, Reconstruct{b, fx, 250000});
  ParallelFor<<<grid, 128, 0, fj.lane(1)>>>(kCells, Reconstruct{b, fy, 1000});
#ifdef FIXED
  fj.order(0, 1);
#endif
  ParallelFor<<<grid, 128, 0, fj.lane(1)>>>(kCells, ComputeEMF{fx, fy, emf, kCells});
  fj.join();
  ParallelFor<<<grid, 128, 0, fj.main()>>>(kCells, UpdateB{b, emf});
  CK(cudaGetLastError());
  CK(cudaStreamEndCapture(fj.main(), &graph));
  CK(cudaGraphInstantiate(&step, graph, 0));

  for (int it = 0; it < 4; ++it) CK(cudaGraphLaunch(step, fj.main()));
  CK(cudaStreamSynchronize(fj.main()));
  float h;
  CK(cudaMemcpy(&h, b + 3, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("B[3] = %g\n", h);
  CK(cudaGraphExecDestroy(step));
  CK(cudaGraphDestroy(graph));
  for (float* p : {b, fx, fy, emf}) CK(cudaFree(p));
  return 0;
}
