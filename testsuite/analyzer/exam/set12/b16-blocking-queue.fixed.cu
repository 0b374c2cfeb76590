// Shallow-water simulation on top of a small portability layer.
//
// The layer offers an in-order queue whose operations are complete when the
// call returns, which keeps the host code of the solver free of CUDA details.

#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace port {

inline void verify(cudaError_t e, const char* op) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(op) + " failed: " + cudaGetErrorString(e));
}

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t extent) : extent_(extent) {
    verify(cudaMalloc(reinterpret_cast<void**>(&data_), extent * sizeof(T)), "cudaMalloc");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t extent() const { return extent_; }
  size_t bytes() const { return extent_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t extent_;
};

class BlockingQueue {
 public:
  BlockingQueue() { verify(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  ~BlockingQueue() { cudaStreamDestroy(stream_); }
  BlockingQueue(const BlockingQueue&) = delete;
  BlockingQueue& operator=(const BlockingQueue&) = delete;

  template <class... Params, class... Args>
  void exec(void (*kernel)(Params...), size_t work_items, Args&&... args) {
    const unsigned grid = static_cast<unsigned>((work_items + 127) / 128);
    kernel<<<grid, 128, 0, stream_>>>(std::forward<Args>(args)...);
    verify(cudaGetLastError(), "kernel launch");
    verify(cudaStreamSynchronize(stream_), "kernel");
  }

  template <class T>
  void copy(Buffer<T>& dst, const Buffer<T>& src) {
    verify(cudaMemcpyAsync(dst.data(), src.data(), src.bytes(), cudaMemcpyDeviceToDevice, stream_), "device copy");
    verify(cudaStreamSynchronize(stream_), "device copy");
  }

  template <class T>
  void read(std::vector<T>& dst, const Buffer<T>& src) {
    dst.resize(src.extent());
    verify(cudaMemcpyAsync(dst.data(), src.data(), src.bytes(), cudaMemcpyDeviceToHost, stream_), "read");
    verify(cudaStreamSynchronize(stream_), "read");
  }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace port

__global__ void drop(float* height, int side) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side * side) return;
  const float dx = i % side - 0.5f * side, dy = i / side - 0.5f * side;
  height[i] = 1.0f + 0.5f * expf(-(dx * dx + dy * dy) * 0.01f);
}

__global__ void fill(float* dst, int n, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = value;
}

__global__ void advance(const float* before, float* height, float* momentum, int side, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = i % side, y = i / side;
  if (x < 1 || y < 1 || x >= side - 1 || y >= side - 1) return;
  const float laplace = before[i - 1] + before[i + 1] + before[i - side] + before[i + side] - 4.0f * before[i];
  momentum[i] += dt * laplace;
  height[i] = before[i] + dt * momentum[i];
}

class ShallowWater {
 public:
  explicit ShallowWater(int side) : side_(side), height_(cells()), before_(cells()), momentum_(cells()) {
    queue_.exec(drop, cells(), height_.data(), side_);
    queue_.exec(fill, cells(), momentum_.data(), static_cast<int>(cells()), 0.0f);
  }

  void step(float dt) {
    queue_.copy(before_, height_);
    queue_.exec(advance, cells(), before_.data(), height_.data(), momentum_.data(), side_, dt);
  }

  double volume() {
    std::vector<float> h;
    queue_.read(h, height_);
    double sum = 0.0;
    for (float v : h) sum += v;
    return sum;
  }

 private:
  size_t cells() const { return static_cast<size_t>(side_) * side_; }

  int side_;
  port::BlockingQueue queue_;
  port::Buffer<float> height_, before_, momentum_;
};

int main() {
  ShallowWater lake(1024);
  const double start = lake.volume();
  for (int i = 0; i < 1000; ++i) lake.step(0.05f);
  std::printf("volume %.3f -> %.3f\n", start, lake.volume());
  return 0;
}
