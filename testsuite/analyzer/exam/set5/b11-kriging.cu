#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace geo {

void ok(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
void ok(cublasStatus_t s) { if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(s)); }

struct PinnedDelete { void operator()(double* p) const { cudaFreeHost(p); } };

// Column-major dense matrix in page-locked memory.
struct HostMatrix {
  HostMatrix(int r, int c) : rows(r), cols(c) {
    double* p = nullptr;
    ok(cudaMallocHost(&p, sizeof(double) * r * c));
    data.reset(p);
  }
  double& operator()(int i, int j) { return data[size_t(j) * rows + i]; }
  double operator()(int i, int j) const { return data[size_t(j) * rows + i]; }
  size_t bytes() const { return sizeof(double) * rows * cols; }
  int rows, cols;
  std::unique_ptr<double[], PinnedDelete> data;
};

class GemmEngine {
 public:
  GemmEngine() {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cublasCreate(&blas_));
    ok(cublasSetStream(blas_, stream_));
  }
  ~GemmEngine() {
    cudaStreamSynchronize(stream_);
    for (double* p : slots_) cudaFree(p);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  HostMatrix multiply(const HostMatrix& a, const HostMatrix& b) {
    HostMatrix c(a.rows, b.cols);
    double* da = upload(0, a);
    double* db = upload(1, b);
    double* dc = slot(2, c.bytes());
    const double one = 1.0, zero = 0.0;
    ok(cublasDgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, a.rows, b.cols, a.cols, &one, da, a.rows, db, b.rows, &zero, dc, c.rows));
    download(c, dc);
    return c;
  }

 private:
  double* slot(int i, size_t bytes) {
    if (sizes_[i] < bytes) {
      ok(cudaStreamSynchronize(stream_));
      ok(cudaFree(slots_[i]));
      ok(cudaMalloc(&slots_[i], bytes));
      sizes_[i] = bytes;
    }
    return slots_[i];
  }
  double* upload(int i, const HostMatrix& m) {
    double* d = slot(i, m.bytes());
    ok(cudaMemcpyAsync(d, m.data.get(), m.bytes(), cudaMemcpyHostToDevice, stream_));
    return d;
  }
  void download(HostMatrix& m, const double* d) {
    ok(cudaMemcpyAsync(m.data.get(), d, m.bytes(), cudaMemcpyDeviceToHost, stream_));
  }

  cudaStream_t stream_{};
  cublasHandle_t blas_{};
  double* slots_[3] = {nullptr, nullptr, nullptr};
  size_t sizes_[3] = {0, 0, 0};
};

static double trace(const HostMatrix& m) {
  double t = 0;
  for (int i = 0; i < m.rows && i < m.cols; ++i) t += m(i, i);
  return t;
}

// Sum of kriging variances: tr(W^T C) for weights W and covariance C.
double total_variance(GemmEngine& eng, const HostMatrix& weights_t, const HostMatrix& cov) {
  HostMatrix prod = eng.multiply(weights_t, cov);
  return trace(prod);
}

}  // namespace geo

int main() {
  const int n = 1500;
  geo::GemmEngine eng;
  geo::HostMatrix w(n, n), c(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      w(i, j) = 1.0 / (1 + (i > j ? i - j : j - i));
      c(i, j) = i == j ? 1.1 : 0.3;
    }
  std::printf("variance %.6f\n", geo::total_variance(eng, w, c));
  return 0;
}
