// Weighted Jacobi for the Poisson equation. A sweep is captured once and replayed.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define PDE_CHECK(call)                                                            \
  do {                                                                             \
    const cudaError_t e_ = (call);                                                 \
    if (e_ != cudaSuccess)                                                         \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));  \
  } while (0)

namespace pde {

__global__ void defect(const float* u, const float* f, float* r, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  const bool edge = x == 0 || y == 0 || x == n - 1 || y == n - 1;
  const int i = y * n + x;
  r[i] = edge ? 0.f : f[i] - (4.f * u[i] - u[i - 1] - u[i + 1] - u[i - n] - u[i + n]);
}

__global__ void relax(float* u, const float* r, float omega, int cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) u[i] += omega * 0.25f * r[i];
}

__global__ void squareBlocks(const float* r, float* partial, int cells) {
  __shared__ float s[256];
  float v = 0.f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < cells; i += gridDim.x * 256) v += r[i] * r[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

// Scratch memory that grows on demand and is shared by all phases of a solver.
class Scratch {
 public:
  ~Scratch() { cudaFree(ptr_); }
  // Returns true if the memory has moved. The stream is idle afterwards in that case.
  bool reserve(size_t floats, cudaStream_t stream) {
    if (floats <= capacity_) return false;
    PDE_CHECK(cudaStreamSynchronize(stream));
    PDE_CHECK(cudaFree(ptr_));
    ptr_ = nullptr;
    PDE_CHECK(cudaMalloc(reinterpret_cast<void**>(&ptr_), floats * sizeof(float)));
    capacity_ = floats;
    return true;
  }
  float* get() const { return ptr_; }

 private:
  float* ptr_ = nullptr;
  size_t capacity_ = 0;
};

class SweepGraph {
 public:
  ~SweepGraph() { reset(); }
  bool ready() const { return exec_ != nullptr; }
  void reset() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }
  template <typename Body>
  void capture(cudaStream_t stream, Body&& body) {
    cudaGraph_t graph = nullptr;
    PDE_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    PDE_CHECK(cudaStreamEndCapture(stream, &graph));
    PDE_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    PDE_CHECK(cudaGraphDestroy(graph));
  }
  void replay(cudaStream_t stream) { PDE_CHECK(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class JacobiSolver {
 public:
  // `u` and `f` are n x n device arrays that belong to the caller and outlive the solver.
  JacobiSolver(float* u, const float* f, int n, cudaStream_t stream)
      : u_(u), f_(f), n_(n), stream_(stream) {
    scratch_.reserve(size_t(n_) * n_, stream_);
  }
  ~JacobiSolver() { cudaStreamSynchronize(stream_); }

  void sweep(int times) {
    if (!graph_.ready()) graph_.capture(stream_, [this] { enqueueSweep(); });
    for (int i = 0; i < times; ++i) graph_.replay(stream_);
  }

  // Euclidean norm of the defect, reduced over `blocks` partial sums.
  double norm(int blocks) {
    const size_t cells = size_t(n_) * n_;
    if (scratch_.reserve(cells + blocks, stream_)) graph_.reset();
    float* r = scratch_.get();
    float* partial = r + cells;
    enqueueDefect(r);
    squareBlocks<<<blocks, 256, 0, stream_>>>(r, partial, int(cells));
    PDE_CHECK(cudaGetLastError());
    std::vector<float> host(blocks);
    PDE_CHECK(cudaMemcpyAsync(host.data(), partial, blocks * sizeof(float), cudaMemcpyDeviceToHost,
                              stream_));
    PDE_CHECK(cudaStreamSynchronize(stream_));
    double sum = 0.0;
    for (float v : host) sum += v;
    return std::sqrt(sum);
  }

  int solve(double tolerance, int maxRounds) {
    for (int round = 0; round < maxRounds; ++round) {
      sweep(50);
      if (norm(256) < tolerance) return round + 1;
    }
    return maxRounds;
  }

 private:
  void enqueueDefect(float* r) {
    const dim3 block(32, 8), grid((n_ + 31) / 32, (n_ + 7) / 8);
    defect<<<grid, block, 0, stream_>>>(u_, f_, r, n_);
  }
  void enqueueSweep() {
    const int cells = n_ * n_;
    enqueueDefect(scratch_.get());
    relax<<<(cells + 255) / 256, 256, 0, stream_>>>(u_, scratch_.get(), 0.8f, cells);
  }

  float* u_;
  const float* f_;
  int n_;
  cudaStream_t stream_;
  Scratch scratch_;
  SweepGraph graph_;
};

}  // namespace pde
