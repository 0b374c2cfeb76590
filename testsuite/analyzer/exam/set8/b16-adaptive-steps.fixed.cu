// Reaction network integrator with step size control. The error norm comes back through managed memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void chk(cudaError_t e, const char* file, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
  std::exit(1);
}
#define CHK(x) chk((x), __FILE__, __LINE__)

struct StepStats {
  unsigned maxErrMicro;  // error norm in 1e-6
  unsigned negative;     // species below zero
};

__global__ void heunStep(const double* y, double* trial, int n, double dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = y[i], b = y[(i + 1) % n];
  double k1 = 0.4 * b - a * a;
  double p = a + dt * k1;
  double k2 = 0.4 * b - p * p;
  trial[i] = a + 0.5 * dt * (k1 + k2);
}

__global__ void estimateError(const double* y, const double* trial, int n, double dt, StepStats* stats) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = y[i];
  double euler = a + dt * (0.4 * y[(i + 1) % n] - a * a);
  atomicMax(&stats->maxErrMicro, static_cast<unsigned>(fabs(trial[i] - euler) * 1e6));
  if (trial[i] < 0) atomicAdd(&stats->negative, 1u);
}

// Chooses the next step from the statistics of the last trial.
class Controller {
 public:
  explicit Controller(double tol) : tol_(tol) {}

  bool accept(const StepStats& s) {
    const double err = s.maxErrMicro * 1e-6;
    const bool good = err <= tol_ && s.negative == 0;
    dt_ *= std::clamp(0.9 * std::sqrt(tol_ / std::max(err, 1e-12)), 0.3, 2.0);
    return good;
  }
  double dt() const { return dt_; }

 private:
  double tol_;
  double dt_ = 1e-3;
};

class Network {
 public:
  explicit Network(int n) : n_(n) {
    CHK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHK(cudaStreamCreateWithFlags(&output_, cudaStreamNonBlocking));
    CHK(cudaEventCreateWithFlags(&accepted_, cudaEventDisableTiming));
    CHK(cudaEventCreateWithFlags(&saved_, cudaEventDisableTiming));
    CHK(cudaMalloc(&y_, n * sizeof(double)));
    CHK(cudaMalloc(&trial_, n * sizeof(double)));
    CHK(cudaMallocHost(&snapshot_, n * sizeof(double)));
    CHK(cudaMallocManaged(&stats_, sizeof(StepStats)));
    std::fill_n(snapshot_, n, 1.0);
    CHK(cudaMemcpyAsync(y_, snapshot_, n * sizeof(double), cudaMemcpyHostToDevice, compute_));
    CHK(cudaStreamSynchronize(compute_));
  }
  ~Network() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(output_);
    cudaFree(y_);
    cudaFree(trial_);
    cudaFree(stats_);
    cudaFreeHost(snapshot_);
    cudaEventDestroy(accepted_);
    cudaEventDestroy(saved_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(output_);
  }

  StepStats tryStep(double dt) {
    *stats_ = {0, 0};
    heunStep<<<(n_ + 255) / 256, 256, 0, compute_>>>(y_, trial_, n_, dt);
    estimateError<<<(n_ + 255) / 256, 256, 0, compute_>>>(y_, trial_, n_, dt, stats_);
    CHK(cudaStreamSynchronize(compute_));
    return *stats_;
  }

  void commit(bool save) {
    std::swap(y_, trial_);
    if (!save) return;
    CHK(cudaEventRecord(accepted_, compute_));
    CHK(cudaStreamWaitEvent(output_, accepted_, 0));
    CHK(cudaMemcpyAsync(snapshot_, y_, n_ * sizeof(double), cudaMemcpyDeviceToHost, output_));
    CHK(cudaEventRecord(saved_, output_));
    CHK(cudaStreamWaitEvent(compute_, saved_, 0));
  }

  const double* lastSnapshot() {
    CHK(cudaStreamSynchronize(output_));
    return snapshot_;
  }

 private:
  int n_;
  cudaStream_t compute_ = nullptr, output_ = nullptr;
  cudaEvent_t accepted_ = nullptr, saved_ = nullptr;
  double *y_ = nullptr, *trial_ = nullptr, *snapshot_ = nullptr;
  StepStats* stats_ = nullptr;
};

int main() {
  Network net(1 << 20);
  Controller control(1e-4);
  double t = 0;
  int steps = 0, rejected = 0;
  while (t < 1.0 && steps + rejected < 20000) {
    const double dt = control.dt();
    if (!control.accept(net.tryStep(dt))) {
      ++rejected;
      continue;
    }
    net.commit(++steps % 50 == 0);
    t += dt;
  }
  net.commit(true);
  std::printf("t=%g steps=%d rejected=%d y0=%g\n", t, steps, rejected, net.lastSnapshot()[0]);
  return 0;
}
