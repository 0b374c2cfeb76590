// Value at risk over all GPUs: every device simulates its share of the scenarios, device 0 gathers the losses.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define VAR_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void scenarioLosses(float* losses, int count, unsigned seed, float volatility) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned h = seed + 0x9e3779b9u * static_cast<unsigned>(i);
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  losses[i] = volatility * (static_cast<float>(h >> 8) * (2.f / 16777216.f) - 1.f);
}

__global__ void countAbove(const float* losses, int count, float threshold, int* above) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && losses[i] > threshold) atomicAdd(above, 1);
}

class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    VAR_CHECK(cudaGetDevice(&before_));
    VAR_CHECK(cudaSetDevice(device));
  }
  DeviceScope(const DeviceScope&) = delete;
  ~DeviceScope() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

// One device's share. The event belongs to the same device as the stream.
class Share {
 public:
  Share(int device, int count) : device_(device), count_(count) {
    DeviceScope scope(device_);
    VAR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    VAR_CHECK(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    VAR_CHECK(cudaMalloc(reinterpret_cast<void**>(&losses_), count_ * sizeof(float)));
  }
  Share(const Share&) = delete;
  ~Share() {
    DeviceScope scope(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(losses_);
    cudaEventDestroy(sent_);
    cudaStreamDestroy(stream_);
  }

  // `target` may be written when `targetFree` has happened.
  void run(unsigned seed, float volatility, float* target, int targetDevice, cudaEvent_t targetFree) {
    DeviceScope scope(device_);
    scenarioLosses<<<(count_ + 255) / 256, 256, 0, stream_>>>(losses_, count_, seed, volatility);
    VAR_CHECK(cudaGetLastError());
    VAR_CHECK(cudaStreamWaitEvent(stream_, targetFree, 0));
    VAR_CHECK(cudaMemcpyPeerAsync(target, targetDevice, losses_, device_, count_ * sizeof(float), stream_));
    VAR_CHECK(cudaEventRecord(sent_, stream_));
  }

  cudaEvent_t sent() const { return sent_; }

 private:
  int device_, count_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t sent_ = nullptr;
  float* losses_ = nullptr;
};

class RiskEngine {
 public:
  RiskEngine(int devices, int perDevice) : perDevice_(perDevice), total_(devices * perDevice) {
    DeviceScope scope(0);
    VAR_CHECK(cudaStreamCreateWithFlags(&gather_, cudaStreamNonBlocking));
    VAR_CHECK(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
    VAR_CHECK(cudaMalloc(reinterpret_cast<void**>(&all_), total_ * sizeof(float)));
    VAR_CHECK(cudaMalloc(reinterpret_cast<void**>(&above_), sizeof(int)));
    for (int d = 0; d < devices; ++d) shares_.push_back(std::make_unique<Share>(d, perDevice));
  }
  RiskEngine(const RiskEngine&) = delete;
  ~RiskEngine() {
    shares_.clear();
    DeviceScope scope(0);
    cudaStreamSynchronize(gather_);
    cudaFree(all_);
    cudaFree(above_);
    cudaEventDestroy(consumed_);
    cudaStreamDestroy(gather_);
  }

  // Probability that the loss is above the threshold, for one setting of the volatility.
  double exceedance(unsigned seed, float volatility, float threshold) {
    for (std::size_t d = 0; d < shares_.size(); ++d)
      shares_[d]->run(seed + static_cast<unsigned>(d), volatility, all_ + d * perDevice_, 0, consumed_);
    return static_cast<double>(countLosses(threshold)) / total_;
  }

 private:
  int countLosses(float threshold) {
    DeviceScope scope(0);
    for (const auto& s : shares_) VAR_CHECK(cudaStreamWaitEvent(gather_, s->sent(), 0));
    VAR_CHECK(cudaMemsetAsync(above_, 0, sizeof(int), gather_));
    countAbove<<<(total_ + 255) / 256, 256, 0, gather_>>>(all_, total_, threshold, above_);
    VAR_CHECK(cudaGetLastError());
    VAR_CHECK(cudaEventRecord(consumed_, gather_));
    int above = 0;
    VAR_CHECK(cudaMemcpyAsync(&above, above_, sizeof above, cudaMemcpyDeviceToHost, gather_));
    VAR_CHECK(cudaStreamSynchronize(gather_));
    return above;
  }

  int perDevice_, total_;
  std::vector<std::unique_ptr<Share>> shares_;
  cudaStream_t gather_ = nullptr;
  cudaEvent_t consumed_ = nullptr;
  float* all_ = nullptr;
  int* above_ = nullptr;
};

int main() {
  int devices = 0;
  VAR_CHECK(cudaGetDeviceCount(&devices));
  RiskEngine engine(devices, 1 << 22);
  for (float vol : {0.1f, 0.2f, 0.4f})
    std::printf("volatility %.1f: P(loss > 0.09) = %.5f\n", vol, engine.exceedance(42, vol, 0.09f));
}
