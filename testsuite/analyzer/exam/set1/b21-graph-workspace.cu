#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace runner {

#define RUNNER_CHECK(expr)                                             \
  do {                                                                 \
    const cudaError_t err_ = (expr);                                   \
    if (err_ != cudaSuccess)                                           \
      throw std::runtime_error(#expr " -> " + std::string(cudaGetErrorString(err_))); \
  } while (0)

struct CudaFree {
  void operator()(void* p) const { cudaFree(p); }
};
using DevicePtr = std::unique_ptr<float, CudaFree>;

DevicePtr allocate(size_t count) {
  float* p = nullptr;
  RUNNER_CHECK(cudaMalloc(&p, count * sizeof(float)));
  return DevicePtr(p);
}

__global__ void row_max(const float* x, float* ws, int cols) {
  float m = x[static_cast<size_t>(blockIdx.x) * cols];
  for (int c = 1; c < cols; ++c) m = fmaxf(m, x[static_cast<size_t>(blockIdx.x) * cols + c]);
  ws[blockIdx.x] = m;
}

__global__ void softmax_rows(const float* x, const float* ws, float* y, int cols) {
  const float* xr = x + static_cast<size_t>(blockIdx.x) * cols;
  float* yr = y + static_cast<size_t>(blockIdx.x) * cols;
  float sum = 0.f;
  for (int c = 0; c < cols; ++c) sum += expf(xr[c] - ws[blockIdx.x]);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) yr[c] = expf(xr[c] - ws[blockIdx.x]) / sum;
}

class GraphedSoftmax {
 public:
  GraphedSoftmax(int rows, int cols)
      : rows_(rows), cols_(cols), input_(allocate(numel())), output_(allocate(numel())) {
    RUNNER_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    capture();
  }

  ~GraphedSoftmax() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
  }

  GraphedSoftmax(const GraphedSoftmax&) = delete;

  float* input() { return input_.get(); }
  const float* output() const { return output_.get(); }
  cudaStream_t stream() const { return stream_; }

  void replay() {
    RUNNER_CHECK(cudaGraphLaunch(exec_, stream_));
  }

 private:
  size_t numel() const { return static_cast<size_t>(rows_) * cols_; }

  void capture() {
    DevicePtr ws = allocate(rows_);
    cudaGraph_t graph = nullptr;
    RUNNER_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    row_max<<<rows_, 1, 0, stream_>>>(input_.get(), ws.get(), cols_);
    softmax_rows<<<rows_, 128, 0, stream_>>>(input_.get(), ws.get(), output_.get(), cols_);
    RUNNER_CHECK(cudaStreamEndCapture(stream_, &graph));
    RUNNER_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    RUNNER_CHECK(cudaGraphDestroy(graph));
  }

  int rows_;
  int cols_;
  DevicePtr input_;
  DevicePtr output_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace runner
