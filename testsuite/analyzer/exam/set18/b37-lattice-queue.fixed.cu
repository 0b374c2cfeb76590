// Work queue for lattice kernels and a Jacobi relaxation that is driven by it.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lattice {

class DeviceError : public std::runtime_error {
 public:
  explicit DeviceError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};
inline void expect(cudaError_t e) { if (e != cudaSuccess) throw DeviceError(e); }

// In-order queue. submit() returns at once, copy() returns when the data is there.
class Queue {
 public:
  Queue() { expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Queue() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <class Launch>
  void submit(Launch&& launch) {
    launch(stream_);
    expect(cudaGetLastError());
  }

  template <class T>
  void copy(T* dst, const T* src, std::size_t n) {
    expect(cudaMemcpyAsync(dst, src, n * sizeof(T), cudaMemcpyDefault, stream_));
    expect(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_ = nullptr;
};

template <class T>
class Field {
 public:
  explicit Field(std::size_t n) : n_(n) { expect(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T))); }
  ~Field() { cudaFree(p_); }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  T* data() const { return p_; }
  std::size_t size() const { return n_; }
  void swap(Field& o) noexcept { std::swap(p_, o.p_); }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

__global__ void jacobi(const double* u, const double* rhs, double* next, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= n) return;
  int i = y * n + x;
  bool edge = x == 0 || y == 0 || x == n - 1 || y == n - 1;
  next[i] = edge ? u[i] : 0.25 * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] + rhs[i]);
}

__global__ void rowDefect(const double* a, const double* b, double* defect, int n) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= n) return;
  double m = 0.0;
  for (int x = 0; x < n; ++x) m = fmax(m, fabs(a[y * n + x] - b[y * n + x]));
  defect[y] = m;
}

class Relaxation {
 public:
  Relaxation(int n, const std::vector<double>& boundary, const std::vector<double>& rhs)
      : n_(n), u_(std::size_t(n) * n), next_(u_.size()), rhs_(u_.size()), defect_(n) {
    queue_.copy(u_.data(), boundary.data(), u_.size());
    queue_.copy(rhs_.data(), rhs.data(), rhs_.size());
  }

  // Sweeps until the largest change is below `tol`; returns the sweeps done.
  int solve(double tol, int maxSweeps) {
    for (int s = 1; s <= maxSweeps; ++s) {
      sweep();
      if (s % 16 == 0 && largestChange() < tol) return s;
    }
    return maxSweeps;
  }

  std::vector<double> solution() {
    std::vector<double> out(u_.size());
    queue_.copy(out.data(), u_.data(), out.size());
    return out;
  }

 private:
  void sweep() {
    queue_.submit([&](cudaStream_t s) {
      jacobi<<<dim3((n_ + 127) / 128, n_), 128, 0, s>>>(u_.data(), rhs_.data(), next_.data(), n_);
    });
    u_.swap(next_);
  }

  double largestChange() {
    queue_.submit([&](cudaStream_t s) {
      rowDefect<<<(n_ + 127) / 128, 128, 0, s>>>(u_.data(), next_.data(), defect_.data(), n_);
    });
    std::vector<double> rows(n_);
    queue_.copy(rows.data(), defect_.data(), rows.size());
    double m = 0.0;
    for (double r : rows) m = std::fmax(m, r);
    return m;
  }

  int n_;
  Field<double> u_, next_, rhs_, defect_;
  Queue queue_;
};

}  // namespace lattice

int main() {
  constexpr int n = 512;
  std::vector<double> u(n * n, 0.0), rhs(n * n, 1e-3);
  for (int x = 0; x < n; ++x) u[x] = 1.0;
  try {
    lattice::Relaxation r(n, u, rhs);
    int sweeps = r.solve(1e-8, 20000);
    std::printf("%d sweeps, centre %.9f\n", sweeps, r.solution()[(n / 2) * n + n / 2]);
  } catch (const lattice::DeviceError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
