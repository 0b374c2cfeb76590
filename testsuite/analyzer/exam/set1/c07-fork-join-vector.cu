// Batched small solves, spread over a set of worker streams.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace batched {

inline void expect_ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Worker {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float* scratch = nullptr;
};

class WorkerSet {
 public:
  WorkerSet(int count, size_t scratch) : workers_(count) {
    expect_ok(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    for (Worker& w : workers_) {
      expect_ok(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
      expect_ok(cudaEventCreateWithFlags(&w.done, cudaEventDisableTiming));
      expect_ok(cudaMalloc(&w.scratch, scratch * sizeof(float)));
    }
  }
  ~WorkerSet() {
    for (Worker& w : workers_) {
      cudaStreamSynchronize(w.stream);
      cudaFree(w.scratch);
      cudaEventDestroy(w.done);
      cudaStreamDestroy(w.stream);
    }
    cudaEventDestroy(start_);
  }
  WorkerSet(const WorkerSet&) = delete;

  // Calls fn(worker, item) for every item; all of it between what `stream` has
  // now and what it gets afterwards.
  template <typename Fn>
  void for_each(int items, cudaStream_t stream, Fn&& fn) {
    const int used = std::min<int>(items, static_cast<int>(workers_.size()));
    expect_ok(cudaEventRecord(start_, stream));
    for (int w = 0; w < used; ++w) expect_ok(cudaStreamWaitEvent(workers_[w].stream, start_, 0));
    for (int i = 0; i < items; ++i) fn(workers_[i % workers_.size()], i);
    for (int w = 0; w < used; ++w) {
      expect_ok(cudaEventRecord(workers_[w].done, workers_[w].stream));
      expect_ok(cudaStreamWaitEvent(stream, workers_[w].done, 0));
    }
  }

 private:
  std::vector<Worker> workers_;
  cudaEvent_t start_ = nullptr;
};

__global__ void jacobi_sweep(const float* a, const float* b, const float* x, float* out, int n) {
  int r = threadIdx.x;
  if (r >= n) return;
  float s = b[r];
  for (int c = 0; c < n; ++c)
    if (c != r) s -= a[r * n + c] * x[c];
  out[r] = s / a[r * n + r];
}

__global__ void residual_norms(const float* a, const float* b, const float* x, float* norms, int n) {
  const float* A = a + static_cast<size_t>(blockIdx.x) * n * n;
  const float* B = b + static_cast<size_t>(blockIdx.x) * n;
  const float* X = x + static_cast<size_t>(blockIdx.x) * n;
  float acc = 0.f;
  for (int r = 0; r < n; ++r) {
    float s = B[r];
    for (int c = 0; c < n; ++c) s -= A[r * n + c] * X[c];
    acc += s * s;
  }
  norms[blockIdx.x] = sqrtf(acc);
}

// scratch of the workers: at least n floats.
void solve(WorkerSet& set, const float* a, const float* b, float* x, float* norms, int batch, int n,
           int sweeps, cudaStream_t stream) {
  if (batch == 0) return;
  expect_ok(cudaMemsetAsync(x, 0, sizeof(float) * batch * n, stream));
  set.for_each(batch, stream, [&](Worker& w, int i) {
    const float* A = a + static_cast<size_t>(i) * n * n;
    const float* B = b + static_cast<size_t>(i) * n;
    float* X = x + static_cast<size_t>(i) * n;
    for (int s = 0; s < sweeps; ++s) {
      jacobi_sweep<<<1, n, 0, w.stream>>>(A, B, X, w.scratch, n);
      expect_ok(cudaGetLastError());
      expect_ok(cudaMemcpyAsync(X, w.scratch, sizeof(float) * n, cudaMemcpyDeviceToDevice, w.stream));
    }
  });
  residual_norms<<<batch, 1, 0, stream>>>(a, b, x, norms, n);
  expect_ok(cudaGetLastError());
}

}  // namespace batched
