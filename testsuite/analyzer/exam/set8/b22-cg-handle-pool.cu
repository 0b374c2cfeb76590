// Dense conjugate-gradient solver for the bundle-adjustment back end.
// Many small SPD systems are solved side by side; cuBLAS handles are expensive and therefore leased from a pool.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#define CU_OK(call)                                                               \
  do {                                                                            \
    cudaError_t rc_ = (call);                                                     \
    if (rc_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

#define BLAS_OK(call)                                                \
  do {                                                               \
    if ((call) != CUBLAS_STATUS_SUCCESS) {                           \
      std::fprintf(stderr, "%s:%d cublas\n", __FILE__, __LINE__);    \
      std::abort();                                                  \
    }                                                                \
  } while (0)

namespace ba {

class HandlePool {
 public:
  ~HandlePool() {
    for (cublasHandle_t h : idle_) cublasDestroy(h);
  }

  cublasHandle_t lease(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    cublasHandle_t handle = nullptr;
    if (!idle_.empty()) {
      handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
    BLAS_OK(cublasCreate(&handle));
    BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    BLAS_OK(cublasSetStream(handle, stream));
    return handle;
  }

  void give_back(cublasHandle_t handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::vector<cublasHandle_t> idle_;
};

// All device memory of one normal-equation system. `scalars` is {1, 0, r.r, p.Ap, r.r of the last step}.
struct System {
  int n;
  const float* a;
  const float* b;
  float* x;
  float* r;
  float* p;
  float* ap;
  float* scalars;
  float* host_residual;  // page-locked
  cudaStream_t stream;   // non-blocking, one per system
};

__global__ void start_cg(int n, const float* b, float* x, float* r, float* p, float* scalars) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) {
    scalars[0] = 1.0f;
    scalars[1] = 0.0f;
  }
  if (i >= n) return;
  x[i] = 0.0f;
  r[i] = b[i];
  p[i] = b[i];
}

__global__ void advance(int n, const float* p, const float* ap, float* x, float* r, const float* scalars) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float alpha = scalars[4] / scalars[3];
  x[i] += alpha * p[i];
  r[i] -= alpha * ap[i];
}

__global__ void redirect(int n, const float* r, float* p, const float* scalars) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i] = r[i] + scalars[2] / scalars[4] * p[i];
}

static void multiply(cublasHandle_t blas, const System& s) {
  BLAS_OK(cublasSgemv(blas, CUBLAS_OP_N, s.n, s.n, s.scalars, s.a, s.n, s.p, 1, s.scalars + 1, s.ap, 1));
  BLAS_OK(cublasSdot(blas, s.n, s.p, 1, s.ap, 1, s.scalars + 3));
}

static void square_norm(cublasHandle_t blas, const System& s, int slot) {
  BLAS_OK(cublasSdot(blas, s.n, s.r, 1, s.r, 1, s.scalars + slot));
}

// Runs a fixed number of CG steps and returns the squared norm of the residual.
float solve(HandlePool& pool, const System& s, int steps) {
  const int threads = 128;
  const int blocks = (s.n + threads - 1) / threads;
  cublasHandle_t blas = pool.lease(s.stream);
  start_cg<<<blocks, threads, 0, s.stream>>>(s.n, s.b, s.x, s.r, s.p, s.scalars);
  CU_OK(cudaGetLastError());
  for (int k = 0; k < steps; ++k) {
    square_norm(blas, s, 4);
    multiply(blas, s);
    advance<<<blocks, threads, 0, s.stream>>>(s.n, s.p, s.ap, s.x, s.r, s.scalars);
    square_norm(blas, s, 2);
    redirect<<<blocks, threads, 0, s.stream>>>(s.n, s.r, s.p, s.scalars);
    CU_OK(cudaGetLastError());
  }
  CU_OK(cudaMemcpyAsync(s.host_residual, s.scalars + 2, sizeof(float), cudaMemcpyDeviceToHost, s.stream));
  CU_OK(cudaStreamSynchronize(s.stream));
  pool.give_back(blas);
  return *s.host_residual;
}

// Re-solves every system until its residual is below `tol`; used by the Levenberg loop.
int solve_all(HandlePool& pool, std::vector<System>& systems, int steps, float tol) {
  int converged = 0;
  for (System& s : systems) {
    if (solve(pool, s, steps) < tol) ++converged;
  }
  return converged;
}

}  // namespace ba
