// Cloud microphysics: one column model step, replayed as a CUDA graph. Temporary fields come
// from the stream-ordered pool; a history frame is kept for every tenth step.
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace cloud {

class CudaFailure : public std::runtime_error {
 public:
  CudaFailure(const char* what, cudaError_t rc)
      : std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc)) {}
};
#define CLOUD_CALL(fn, ...)                                    \
  do {                                                         \
    const cudaError_t rc_ = fn(__VA_ARGS__);                   \
    if (rc_ != cudaSuccess) throw ::cloud::CudaFailure(#fn, rc_); \
  } while (0)

struct Grid {
  int columns;
  int levels;
  std::size_t cells() const { return static_cast<std::size_t>(columns) * levels; }
  std::size_t bytes() const { return cells() * sizeof(float); }
};

__global__ void condensation(const float* __restrict__ vapour, float* __restrict__ rate, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rate[i] = fmaxf(0.f, vapour[i] - 0.8f) * 0.05f;
}

__global__ void sediment(float* __restrict__ vapour, const float* __restrict__ rate, int columns,
                         int levels) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float falling = 0.f;
  for (int l = levels - 1; l >= 0; --l) {
    const int i = l * columns + c;
    falling = 0.9f * falling + rate[i];
    vapour[i] += 0.01f * falling - rate[i];
  }
}

class Model {
 public:
  Model(Grid grid, cudaStream_t stream) : grid_(grid), stream_(stream) {
    CLOUD_CALL(cudaMalloc, &vapour_, grid_.bytes());
    std::vector<float> init(grid_.cells());
    for (std::size_t i = 0; i < init.size(); ++i) init[i] = 0.7f + 0.3f * ((i * 7919) % 100) / 100.f;
    CLOUD_CALL(cudaMemcpyAsync, vapour_, init.data(), grid_.bytes(), cudaMemcpyHostToDevice, stream_);
    CLOUD_CALL(cudaStreamSynchronize, stream_);
  }
  ~Model() {
    for (float* frame : history_) cudaFreeAsync(frame, stream_);
    cudaStreamSynchronize(stream_);
    if (step_graph_) cudaGraphExecDestroy(step_graph_);
    cudaFree(vapour_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  void step() {
    float* rate = nullptr;
    CLOUD_CALL(cudaMallocAsync, reinterpret_cast<void**>(&rate), grid_.bytes(), stream_);
    if (!step_graph_) capture_step(rate);
    CLOUD_CALL(cudaGraphLaunch, step_graph_, stream_);
    CLOUD_CALL(cudaFreeAsync, rate, stream_);
  }

  // Appends a copy of the current state to the history.
  void keep_frame() {
    float* frame = nullptr;
    CLOUD_CALL(cudaMallocAsync, reinterpret_cast<void**>(&frame), grid_.bytes(), stream_);
    CLOUD_CALL(cudaMemcpyAsync, frame, vapour_, grid_.bytes(), cudaMemcpyDeviceToDevice, stream_);
    history_.push_back(frame);
  }

  std::vector<float> frame(std::size_t k) const {
    std::vector<float> host(grid_.cells());
    CLOUD_CALL(cudaMemcpyAsync, host.data(), history_.at(k), grid_.bytes(), cudaMemcpyDeviceToHost,
               stream_);
    CLOUD_CALL(cudaStreamSynchronize, stream_);
    return host;
  }
  std::size_t frames() const { return history_.size(); }

 private:
  void capture_step(float* rate) {
    cudaGraph_t graph = nullptr;
    CLOUD_CALL(cudaStreamBeginCapture, stream_, cudaStreamCaptureModeThreadLocal);
    const int n = static_cast<int>(grid_.cells());
    condensation<<<(n + 255) / 256, 256, 0, stream_>>>(vapour_, rate, n);
    sediment<<<(grid_.columns + 127) / 128, 128, 0, stream_>>>(vapour_, rate, grid_.columns,
                                                               grid_.levels);
    CLOUD_CALL(cudaStreamEndCapture, stream_, &graph);
    CLOUD_CALL(cudaGraphInstantiate, &step_graph_, graph, 0);
    CLOUD_CALL(cudaGraphDestroy, graph);
  }

  Grid grid_;
  cudaStream_t stream_;
  float* vapour_ = nullptr;
  cudaGraphExec_t step_graph_ = nullptr;
  std::vector<float*> history_;
};

}  // namespace cloud

int main() try {
  cudaStream_t stream;
  CLOUD_CALL(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  {
    cloud::Model model({8192, 60}, stream);
    for (int s = 0; s < 200; ++s) {
      model.step();
      if (s % 10 == 0) model.keep_frame();
    }
    double total = 0.0;
    for (std::size_t k = 0; k < model.frames(); ++k)
      for (float v : model.frame(k)) total += v;
    std::printf("%zu frames, mean %.6f\n", model.frames(), total / model.frames());
  }
  CLOUD_CALL(cudaStreamDestroy, stream);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
