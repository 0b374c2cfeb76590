#include <cuda_runtime.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <vector>

#define CUDA_OK(call)                                                       \
  if (cudaError_t err_ = (call); err_ != cudaSuccess) {                     \
    std::cerr << #call << ": " << cudaGetErrorString(err_) << '\n';         \
    std::abort();                                                           \
  }

namespace tides {

struct Constituent {
  float amplitude, phase, speed;
};

// Harmonic constants of one port network; lives on the device of whoever asks first,
// uploaded on the asking stream and shared by every forecast worker.
class ConstantsOnDevice {
 public:
  explicit ConstantsOnDevice(const std::vector<Constituent>& c) : count_(c.size()) {
    CUDA_OK(cudaHostAlloc(&host_, count_ * sizeof(Constituent), cudaHostAllocWriteCombined));
    for (size_t i = 0; i < count_; ++i) host_[i] = c[i];
    CUDA_OK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~ConstantsOnDevice() {
    CUDA_OK(cudaDeviceSynchronize());
    if (dev_) CUDA_OK(cudaFree(dev_));
    CUDA_OK(cudaFreeHost(host_));
    CUDA_OK(cudaEventDestroy(ready_));
  }

  const Constituent* get(cudaStream_t stream) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (filler_ != nullptr) {
      if (stream != filler_) CUDA_OK(cudaStreamWaitEvent(stream, ready_, 0));
      return dev_;
    }
    CUDA_OK(cudaMalloc(&dev_, count_ * sizeof(Constituent)));
    CUDA_OK(cudaMemcpyAsync(dev_, host_, count_ * sizeof(Constituent), cudaMemcpyHostToDevice, stream));
    filler_ = stream;
    return dev_;
  }

  size_t size() const { return count_; }

 private:
  size_t count_;
  std::mutex mutex_;
  Constituent* host_ = nullptr;
  Constituent* dev_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  cudaStream_t filler_ = nullptr;
};

__global__ void predict(const Constituent* c, int n, float t0, float dt, float* level, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= steps) return;
  float t = t0 + i * dt, h = 0.f;
  for (int k = 0; k < n; ++k) h += c[k].amplitude * cosf(c[k].speed * t + c[k].phase);
  level[i] = h;
}

class Forecaster {
 public:
  Forecaster(ConstantsOnDevice& table, int steps) : table_(table), steps_(steps) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(&level_, steps * sizeof(float)));
  }
  ~Forecaster() {
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaFree(level_));
    CUDA_OK(cudaStreamDestroy(stream_));
  }
  void launch(float t0) {
    const Constituent* c = table_.get(stream_);
    predict<<<(steps_ + 127) / 128, 128, 0, stream_>>>(c, int(table_.size()), t0, 60.f, level_, steps_);
    CUDA_OK(cudaGetLastError());
  }
  float first() {
    float v = 0;
    CUDA_OK(cudaStreamSynchronize(stream_));
    CUDA_OK(cudaMemcpy(&v, level_, sizeof v, cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  ConstantsOnDevice& table_;
  int steps_;
  cudaStream_t stream_ = nullptr;
  float* level_ = nullptr;
};

}  // namespace tides

int main() {
  std::vector<tides::Constituent> c(37 * 4096);
  for (size_t i = 0; i < c.size(); ++i) c[i] = {1.f / float(i + 1), 0.1f * float(i % 60), 0.5f + 1e-4f * float(i)};
  tides::ConstantsOnDevice table(c);
  std::array<std::unique_ptr<tides::Forecaster>, 4> workers;
  for (auto& w : workers) w = std::make_unique<tides::Forecaster>(table, 2880);
  for (size_t i = 0; i < workers.size(); ++i) workers[i]->launch(3600.f * float(i));
  for (auto& w : workers) std::cout << w->first() << '\n';
}
