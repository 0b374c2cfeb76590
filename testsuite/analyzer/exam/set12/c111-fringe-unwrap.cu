// Phase unwrapping for a fringe projection scanner.
//
// The pipeline for one camera frame is kept as a CUDA graph.  Cameras differ in resolution: whenever a larger
// frame arrives, the buffers grow and the graph is recorded anew.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_TRY(expr)                                                              \
  do {                                                                              \
    if (cudaError_t rc = (expr); rc != cudaSuccess) {                               \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc));           \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

__global__ void wrapped_phase(const float* frames, float* phase, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float a = frames[i], b = frames[pixels + i], c = frames[2 * pixels + i];
  phase[i] = (a - c) / (2.f * b - a - c + 1e-3f);
}

__global__ void row_gradient(const float* phase, float* gradient, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= width || y >= height) return;
  float d = x > 0 ? phase[y * width + x] - phase[y * width + x - 1] : 0.f;
  gradient[y * width + x] = d > 0.5f ? d - 1.f : (d < -0.5f ? d + 1.f : d);
}

__global__ void integrate_rows(const float* gradient, float* depth, int width, int height) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= height) return;
  float sum = 0.f;
  for (int x = 0; x < width; ++x) {
    sum += gradient[y * width + x];
    depth[y * width + x] = sum;
  }
}

class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { release(); }

  bool fits(std::size_t pixels) const { return pixels <= capacity_; }
  void grow(std::size_t pixels) {
    release();
    CUDA_TRY(cudaMalloc(&frames, 3 * pixels * sizeof(float)));
    CUDA_TRY(cudaMalloc(&phase, pixels * sizeof(float)));
    CUDA_TRY(cudaMalloc(&gradient, pixels * sizeof(float)));
    CUDA_TRY(cudaMalloc(&depth, pixels * sizeof(float)));
    capacity_ = pixels;
  }

  float* frames = nullptr;
  float* phase = nullptr;
  float* gradient = nullptr;
  float* depth = nullptr;

 private:
  void release() {
    for (float** p : {&frames, &phase, &gradient, &depth}) {
      CUDA_TRY(cudaFree(*p));
      *p = nullptr;
    }
    capacity_ = 0;
  }
  std::size_t capacity_ = 0;
};

class Unwrapper {
 public:
  Unwrapper() { CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Unwrapper() {
    CUDA_TRY(cudaStreamSynchronize(stream_));
    forget_graph();
    CUDA_TRY(cudaStreamDestroy(stream_));
  }
  Unwrapper(const Unwrapper&) = delete;
  Unwrapper& operator=(const Unwrapper&) = delete;

  void submit(const float* pinned_frames, float* pinned_depth, int width, int height) {
    const std::size_t pixels = std::size_t(width) * height;
    if (width != width_ || height != height_) reshape(width, height);
    CUDA_TRY(cudaMemcpyAsync(work_.frames, pinned_frames, 3 * pixels * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDA_TRY(cudaGraphLaunch(exec_, stream_));
    CUDA_TRY(cudaMemcpyAsync(pinned_depth, work_.depth, pixels * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }

  void wait() { CUDA_TRY(cudaStreamSynchronize(stream_)); }

 private:
  void reshape(int width, int height) {
    forget_graph();
    if (!work_.fits(std::size_t(width) * height)) {
      wait();
      work_.grow(std::size_t(width) * height);
    }
    width_ = width;
    height_ = height;
    record();
  }

  void forget_graph() {
    if (exec_) CUDA_TRY(cudaGraphExecDestroy(exec_));
    exec_ = nullptr;
  }

  void record() {
    const int pixels = width_ * height_;
    cudaGraph_t graph = nullptr;
    CUDA_TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    wrapped_phase<<<(pixels + 255) / 256, 256, 0, stream_>>>(work_.frames, work_.phase, pixels);
    row_gradient<<<dim3((width_ + 127) / 128, height_), 128, 0, stream_>>>(work_.phase, work_.gradient, width_, height_);
    integrate_rows<<<(height_ + 63) / 64, 64, 0, stream_>>>(work_.gradient, work_.depth, width_, height_);
    CUDA_TRY(cudaStreamEndCapture(stream_, &graph));
    CUDA_TRY(cudaGraphInstantiate(&exec_, graph, 0));
    CUDA_TRY(cudaGraphDestroy(graph));
  }

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  Workspace work_;
  int width_ = 0, height_ = 0;
};

int main() {
  struct Shape {
    int width, height;
  };
  const std::vector<Shape> cameras = {{640, 480}, {1280, 720}, {800, 600}, {1920, 1200}};
  const std::size_t largest = 1920 * 1200;
  float *frames = nullptr, *depth = nullptr;
  CUDA_TRY(cudaMallocHost(&frames, 3 * largest * sizeof(float)));
  CUDA_TRY(cudaMallocHost(&depth, cameras.size() * largest * sizeof(float)));
  for (std::size_t i = 0; i < 3 * largest; ++i) frames[i] = 0.5f + 0.5f * std::sin(0.02f * i);
  {
    Unwrapper unwrapper;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t c = 0; c < cameras.size(); ++c)
        unwrapper.submit(frames, depth + c * largest, cameras[c].width, cameras[c].height);
    }
    unwrapper.wait();
  }
  for (std::size_t c = 0; c < cameras.size(); ++c) std::printf("camera %zu: %.3f\n", c, depth[c * largest + 100]);
  CUDA_TRY(cudaFreeHost(depth));
  CUDA_TRY(cudaFreeHost(frames));
  return 0;
}
