// Block Lanczos helper: one cuBLAS handle serves two streams in turn, each of them with a
// workspace of its own.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

namespace lanczos {

inline void ok(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
inline void ok(cublasStatus_t s) { if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(s)); }

__global__ void bandMultiply(const double* diag, const double* off, const double* x, double* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = diag[i] * x[i];
  if (i > 0) v += off[i - 1] * x[i - 1];
  if (i < n - 1) v += off[i] * x[i + 1];
  y[i] = v;
}

constexpr std::size_t kWorkspace = std::size_t(32) << 20;

struct Strand {
  Strand() {
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    ok(cudaMalloc(&workspace, kWorkspace));
  }
  ~Strand() {
    cudaStreamSynchronize(stream);
    cudaFree(workspace);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  void* workspace = nullptr;
};

// Points the handle at a strand. The workspace has to be set again after every cublasSetStream.
class Blas {
 public:
  Blas() { ok(cublasCreate(&h_)); }
  ~Blas() { cublasDestroy(h_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  cublasHandle_t on(const Strand& s) const {
    ok(cublasSetStream(h_, s.stream));
    ok(cublasSetWorkspace(h_, s.workspace, kWorkspace));
    return h_;
  }

 private:
  cublasHandle_t h_ = nullptr;
};

struct Operator { const double *diag, *off; int n; };

class Lanczos {
 public:
  // The operator's arrays are resident and constant.
  explicit Lanczos(Operator a) : a_(a) {
    for (double** p : {&q_, &prev_, &w_, &snapshot_}) ok(cudaMalloc(reinterpret_cast<void**>(p), a.n * sizeof(double)));
  }
  ~Lanczos() {
    cudaStreamSynchronize(main_.stream);
    cudaStreamSynchronize(audit_.stream);
    for (double* p : {q_, prev_, w_, snapshot_}) cudaFree(p);
  }
  Lanczos(const Lanczos&) = delete;
  Lanczos& operator=(const Lanczos&) = delete;

  // Tridiagonal coefficients from the unit start vector in host memory.
  std::pair<std::vector<double>, std::vector<double>> run(const std::vector<double>& start, int steps) {
    const std::size_t bytes = a_.n * sizeof(double);
    ok(cudaMemcpyAsync(q_, start.data(), bytes, cudaMemcpyHostToDevice, main_.stream));
    ok(cudaMemsetAsync(prev_, 0, bytes, main_.stream));
    std::vector<double> alpha, beta;
    double b = 0.0;
    for (int k = 0; k < steps; ++k) {
      auditVector();
      multiply();
      alpha.push_back(project());
      b = orthogonalise(alpha.back(), b);
      beta.push_back(b);
      if (b < 1e-14) break;
      rotate(b);
    }
    ok(cudaStreamSynchronize(main_.stream));
    ok(cudaStreamSynchronize(audit_.stream));
    return {alpha, beta};
  }

 private:
  // Keeps a copy of q next to the main strand; rotate() waits for it.
  void auditVector() {
    ok(cudaEventRecord(main_.done, main_.stream));
    ok(cudaStreamWaitEvent(audit_.stream, main_.done, 0));
    ok(cublasDcopy(blas_.on(audit_), a_.n, q_, 1, snapshot_, 1));
    ok(cudaEventRecord(audit_.done, audit_.stream));
  }

  void multiply() {
    bandMultiply<<<(a_.n + 255) / 256, 256, 0, main_.stream>>>(a_.diag, a_.off, q_, w_, a_.n);
    ok(cudaGetLastError());
  }

  // The result pointer is host memory (CUBLAS_POINTER_MODE_HOST): the call returns with the value.
  double project() {
    double a = 0.0;
    ok(cublasDdot(blas_.on(main_), a_.n, q_, 1, w_, 1, &a));
    return a;
  }

  double orthogonalise(double a, double b) {
    const double na = -a, nb = -b;
    cublasHandle_t h = blas_.on(main_);
    ok(cublasDaxpy(h, a_.n, &na, q_, 1, w_, 1));
    ok(cublasDaxpy(h, a_.n, &nb, prev_, 1, w_, 1));
    double norm = 0.0;
    ok(cublasDnrm2(h, a_.n, w_, 1, &norm));
    return norm;
  }

  // (prev, q, w) <- (q, w / b, prev)
  void rotate(double b) {
    const double inv = 1.0 / b;
    ok(cublasDscal(blas_.on(main_), a_.n, &inv, w_, 1));
    ok(cudaStreamWaitEvent(main_.stream, audit_.done, 0));
    double* old = prev_;
    prev_ = q_;
    q_ = w_;
    w_ = old;
  }

  Operator a_;
  Strand main_, audit_;
  Blas blas_;
  double *q_ = nullptr, *prev_ = nullptr, *w_ = nullptr, *snapshot_ = nullptr;
};

}  // namespace lanczos
