// Adaptive optics: one control step of the mirror, split over three branch streams.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <stdexcept>

namespace ao {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void ok(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas");
}

__global__ void leakyIntegrate(float* state, const float* slopes, int n, float leak) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = leak * state[i] + slopes[i];
}

__global__ void predictDrift(float* drift, const float* history, int n, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 0.f;
  for (int d = 0; d < depth; ++d) v += history[d * n + i] / (d + 1);
  drift[i] = v;
}

__global__ void combineCommand(float* command, const float* modal, const float* state,
                               const float* drift, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) command[i] = modal[i] + 0.3f * state[i] - drift[i];
}

struct MirrorBuffers {
  const float* control = nullptr;  // n x n, column major
  const float* history = nullptr;  // depth x n
  const float* slopes = nullptr;
  float* modal = nullptr;
  float* state = nullptr;
  float* drift = nullptr;
  float* command = nullptr;
  int n = 0;
  int depth = 0;
};

class ControlStep {
 public:
  ControlStep() {
    for (size_t i = 0; i < branch_.size(); ++i) {
      ok(cudaStreamCreateWithFlags(&branch_[i], cudaStreamNonBlocking));
      ok(cudaEventCreateWithFlags(&branchDone_[i], cudaEventDisableTiming));
    }
    ok(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    ok(cublasCreate(&blas_));
    ok(cublasSetStream(blas_, branch_[kModal]));
  }
  ~ControlStep() {
    for (cudaStream_t s : branch_) cudaStreamSynchronize(s);
    cublasDestroy(blas_);
    for (cudaEvent_t e : branchDone_) cudaEventDestroy(e);
    for (cudaStream_t s : branch_) cudaStreamDestroy(s);
    cudaEventDestroy(begin_);
  }
  ControlStep(const ControlStep&) = delete;
  ControlStep& operator=(const ControlStep&) = delete;

  // Computes the next command of the mirror in `main`'s order.
  void run(const MirrorBuffers& b, cudaStream_t main) {
    fork(main);
    modalBranch(b);
    stateBranch(b);
    driftBranch(b);
    join(main);
    combineCommand<<<grid(b.n), 128, 0, main>>>(b.command, b.modal, b.state, b.drift, b.n);
    ok(cudaGetLastError());
  }

 private:
  enum Branch { kModal = 0, kState = 1, kDrift = 2, kBranches = 3 };

  static int grid(int n) { return (n + 127) / 128; }

  void fork(cudaStream_t main) {
    ok(cudaEventRecord(begin_, main));
    for (cudaStream_t s : branch_) ok(cudaStreamWaitEvent(s, begin_, 0));
  }

  void modalBranch(const MirrorBuffers& b) {
    const float one = 1.f, zero = 0.f;
    ok(cublasSgemv(blas_, CUBLAS_OP_N, b.n, b.n, &one, b.control, b.n, b.slopes, 1, &zero,
                   b.modal, 1));
    ok(cudaEventRecord(branchDone_[kModal], branch_[kModal]));
  }

  void stateBranch(const MirrorBuffers& b) {
    leakyIntegrate<<<grid(b.n), 128, 0, branch_[kState]>>>(b.state, b.slopes, b.n, 0.99f);
    ok(cudaGetLastError());
    ok(cudaEventRecord(branchDone_[kState], branch_[kState]));
  }

  void driftBranch(const MirrorBuffers& b) {
    predictDrift<<<grid(b.n), 128, 0, branch_[kDrift]>>>(b.drift, b.history, b.n, b.depth);
    ok(cudaGetLastError());
    ok(cudaEventRecord(branchDone_[kDrift], branch_[kDrift]));
  }

  void join(cudaStream_t main) {
    ok(cudaStreamWaitEvent(main, branchDone_[kModal], 0));
    ok(cudaStreamWaitEvent(main, branchDone_[kState], 0));
    ok(cudaStreamWaitEvent(main, branchDone_[kDrift], 0));
  }

  std::array<cudaStream_t, kBranches> branch_{};
  std::array<cudaEvent_t, kBranches> branchDone_{};
  cudaEvent_t begin_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

}  // namespace ao
