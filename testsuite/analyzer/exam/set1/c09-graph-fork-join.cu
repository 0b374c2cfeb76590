#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <string>

// An inference step as a graph with two branches. Whatever the graph uses is
// owned by the object that owns the executable graph.

#define CG_CHECK(x)                                                                    \
  if (auto cg_rc = (x); cg_rc != cudaSuccess)                                          \
  throw std::runtime_error(std::string(__func__) + ": " + cudaGetErrorString(cg_rc))

namespace cg {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : n_(n) { CG_CHECK(cudaMalloc(&p_, n * sizeof(T))); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  T* get() { return p_; }
  size_t bytes() const { return n_ * sizeof(T); }

 private:
  T* p_ = nullptr;
  size_t n_;
};

__global__ void left_branch(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}
__global__ void right_branch(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1.f - x[i];
}
__global__ void combine(const float* a, const float* b, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i];
}

class Step {
 public:
  explicit Step(int n) : n_(n), in_(n), left_(n), right_(n), out_(n) {
    CG_CHECK(cudaMallocHost(&host_in_, in_.bytes()));
    CG_CHECK(cudaMallocHost(&host_out_, out_.bytes()));
    CG_CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CG_CHECK(cudaStreamCreateWithFlags(&branch_, cudaStreamNonBlocking));
    CG_CHECK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    CG_CHECK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    build();
  }

  ~Step() {
    cudaStreamSynchronize(main_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaEventDestroy(join_);
    cudaEventDestroy(fork_);
    cudaStreamDestroy(branch_);
    cudaStreamDestroy(main_);
    cudaFreeHost(host_out_);
    cudaFreeHost(host_in_);
  }
  Step(const Step&) = delete;

  void run(const float* x, float* y) {
    // Both host arrays are idle: the run before has been waited for.
    for (int i = 0; i < n_; ++i) host_in_[i] = x[i];
    CG_CHECK(cudaGraphLaunch(exec_, main_));
    CG_CHECK(cudaStreamSynchronize(main_));
    for (int i = 0; i < n_; ++i) y[i] = host_out_[i];
  }

 private:
  void build() {
    const int grid = (n_ + 255) / 256;
    cudaGraph_t graph = nullptr;
    CG_CHECK(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal));
    CG_CHECK(cudaMemcpyAsync(in_.get(), host_in_, in_.bytes(), cudaMemcpyHostToDevice, main_));
    CG_CHECK(cudaEventRecord(fork_, main_));
    CG_CHECK(cudaStreamWaitEvent(branch_, fork_, 0));
    left_branch<<<grid, 256, 0, main_>>>(in_.get(), left_.get(), n_);
    right_branch<<<grid, 256, 0, branch_>>>(in_.get(), right_.get(), n_);
    CG_CHECK(cudaEventRecord(join_, branch_));
    CG_CHECK(cudaStreamWaitEvent(main_, join_, 0));
    combine<<<grid, 256, 0, main_>>>(left_.get(), right_.get(), out_.get(), n_);
    CG_CHECK(cudaMemcpyAsync(host_out_, out_.get(), out_.bytes(), cudaMemcpyDeviceToHost, main_));
    CG_CHECK(cudaStreamEndCapture(main_, &graph));
    CG_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    CG_CHECK(cudaGraphDestroy(graph));
  }

  int n_;
  DeviceArray<float> in_, left_, right_, out_;
  float* host_in_ = nullptr;
  float* host_out_ = nullptr;
  cudaStream_t main_ = nullptr, branch_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace cg
