// Geometric multigrid for the pressure equation; levels come and go with the adaptive mesh.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace mg {

class CudaFailure : public std::runtime_error {
 public:
  CudaFailure(cudaError_t e, const char* call)
      : std::runtime_error(std::string(call) + ": " + cudaGetErrorString(e)) {}
};

#define MG_CALL(x)                              \
  do {                                          \
    cudaError_t r_ = (x);                       \
    if (r_ != cudaSuccess) throw CudaFailure(r_, #x); \
  } while (0)

// Fields of a level live in the default memory pool of the device.
inline double* newField(size_t cells, cudaStream_t stream) {
  void* p = nullptr;
  MG_CALL(cudaMallocAsync(&p, cells * sizeof(double), stream));
  MG_CALL(cudaMemsetAsync(p, 0, cells * sizeof(double), stream));
  return static_cast<double*>(p);
}

inline void dropField(double*& field, cudaStream_t stream) {
  if (!field) return;
  MG_CALL(cudaFree(field));
  field = nullptr;
}

__global__ void smoothKernel(double* u, const double* f, int n, double h2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
  if ((i + j) & 1) return;
  u[j * n + i] = 0.25 * (u[j * n + i - 1] + u[j * n + i + 1] + u[(j - 1) * n + i] +
                         u[(j + 1) * n + i] - h2 * f[j * n + i]);
}

__global__ void restrictKernel(const double* fine, double* coarse, int nc) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= nc || j >= nc) return;
  coarse[j * nc + i] = fine[(2 * j) * (2 * nc) + 2 * i];
}

__global__ void prolongKernel(const double* coarse, double* fine, int nc) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= 2 * nc || j >= 2 * nc) return;
  fine[j * (2 * nc) + i] += coarse[(j / 2) * nc + i / 2];
}

struct Level {
  int n = 0;
  double* u = nullptr;
  double* f = nullptr;
};

class Hierarchy {
 public:
  explicit Hierarchy(int finest) {
    MG_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    pushLevel(finest);
  }
  ~Hierarchy() {
    cudaStreamSynchronize(stream_);
    for (Level& l : levels_) {
      cudaFreeAsync(l.u, stream_);
      cudaFreeAsync(l.f, stream_);
    }
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  double* rightHandSide() { return levels_.front().f; }
  double* solution() { return levels_.front().u; }
  cudaStream_t stream() const { return stream_; }

  // One V-cycle. The coarse levels exist only while it is being queued.
  void cycle(int depth) {
    for (int d = 0; d < depth && levels_.back().n >= 8; ++d) descend();
    while (levels_.size() > 1) ascend();
    smooth(levels_.front());
  }

 private:
  static dim3 tiles(int n) { return dim3((n + 15) / 16, (n + 15) / 16); }

  void pushLevel(int n) {
    Level l;
    l.n = n;
    l.u = newField(static_cast<size_t>(n) * n, stream_);
    l.f = newField(static_cast<size_t>(n) * n, stream_);
    levels_.push_back(l);
  }

  void smooth(Level& l) {
    smoothKernel<<<tiles(l.n), dim3(16, 16), 0, stream_>>>(l.u, l.f, l.n, 1.0 / (l.n * l.n));
    MG_CALL(cudaGetLastError());
  }

  void descend() {
    smooth(levels_.back());
    const int nc = levels_.back().n / 2;
    pushLevel(nc);
    const Level& fine = levels_[levels_.size() - 2];
    restrictKernel<<<tiles(nc), dim3(16, 16), 0, stream_>>>(fine.f, levels_.back().f, nc);
    MG_CALL(cudaGetLastError());
  }

  void ascend() {
    Level coarse = levels_.back();
    levels_.pop_back();
    Level& fine = levels_.back();
    smooth(coarse);
    prolongKernel<<<tiles(2 * coarse.n), dim3(16, 16), 0, stream_>>>(coarse.u, fine.u, coarse.n);
    MG_CALL(cudaGetLastError());
    dropField(coarse.u, stream_);
    dropField(coarse.f, stream_);
  }

  cudaStream_t stream_ = nullptr;
  std::vector<Level> levels_;
};

}  // namespace mg
