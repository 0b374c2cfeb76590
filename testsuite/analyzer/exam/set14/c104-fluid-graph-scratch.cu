// Shallow-water solver for games: the substep is captured in a graph that is
// remade whenever the scratch area has to grow.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#define SW_CHECK(x)                                                                    \
  do {                                                                                 \
    cudaError_t sw_e = (x);                                                            \
    if (sw_e != cudaSuccess) throw std::runtime_error(std::string("sw: ") + cudaGetErrorString(sw_e)); \
  } while (0)

namespace water {

__global__ void flux(const float* h, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f[i] = 0.5f * (h[i] - h[i + 1 < n ? i + 1 : i]);
}

__global__ void update(float* h, const float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) h[i] += (i > 0 ? f[i - 1] : 0.f) - f[i];
}

class Pond {
 public:
  Pond() { SW_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Pond() {
    cudaStreamSynchronize(stream_);
    dropGraph();
    cudaFree(scratch_);
    cudaFree(height_);
    cudaStreamDestroy(stream_);
  }
  Pond(const Pond&) = delete;
  Pond& operator=(const Pond&) = delete;

  void resize(int cells) {
    if (cells == cells_) return;
    SW_CHECK(cudaStreamSynchronize(stream_));
    dropGraph();
    if (cells > capacity_) grow(cells);
    cells_ = cells;
    SW_CHECK(cudaMemsetAsync(height_, 0, cells_ * sizeof(float), stream_));
  }

  void substep() {
    if (cells_ == 0) return;
    if (!exec_) record();
    SW_CHECK(cudaGraphLaunch(exec_, stream_));
  }

  void read(float* out) {
    SW_CHECK(cudaMemcpyAsync(out, height_, cells_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    SW_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  void grow(int cells) {
    SW_CHECK(cudaFree(scratch_));
    SW_CHECK(cudaFree(height_));
    scratch_ = height_ = nullptr;
    SW_CHECK(cudaMalloc(reinterpret_cast<void**>(&scratch_), cells * sizeof(float)));
    SW_CHECK(cudaMalloc(reinterpret_cast<void**>(&height_), cells * sizeof(float)));
    capacity_ = cells;
  }

  void record() {
    cudaGraph_t graph = nullptr;
    const int grid = (cells_ + 255) / 256;
    SW_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    flux<<<grid, 256, 0, stream_>>>(height_, scratch_, cells_);
    update<<<grid, 256, 0, stream_>>>(height_, scratch_, cells_);
    SW_CHECK(cudaStreamEndCapture(stream_, &graph));
    SW_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    SW_CHECK(cudaGraphDestroy(graph));
  }

  void dropGraph() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float* scratch_ = nullptr;
  float* height_ = nullptr;
  int cells_ = 0;
  int capacity_ = 0;
};

}  // namespace water
