// Conditions data, uploaded once by whichever stream asks first and shared by all the others.
// Modelled on cms-patatrack/pixeltrack-standalone#202.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#define cudaCheck(x)                                                                     \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

namespace cms::cuda {

template <typename T>
class ESProduct {
 public:
  ESProduct() { cudaCheck(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~ESProduct() { cudaEventDestroy(event_); }

  template <typename F>
  const T& dataForCurrentDeviceAsync(cudaStream_t stream, F transferAsync) const {
    std::lock_guard<std::mutex> lk(mutex_);
    if (!filled_) {
      transferAsync(data_, stream);
#ifdef FIXED
      cudaCheck(cudaEventRecord(event_, stream));
#endif
      filled_ = true;
      fillingStream_ = stream;
    } else if (stream != fillingStream_) {
      cudaCheck(cudaStreamWaitEvent(stream, event_, 0));
    }
    return data_;
  }

 private:
  mutable std::mutex mutex_;
  mutable bool filled_ = false;
  mutable cudaStream_t fillingStream_ = nullptr;
  mutable T data_{};
  cudaEvent_t event_{};
};

}  // namespace cms::cuda

struct PixelGains {
  float2* gainAndPedestal{};
  int channels = 0;
};

class SiPixelGainCalibration {
 public:
  explicit SiPixelGainCalibration(int channels) : channels_(channels) {
    cudaCheck(cudaMallocHost(&host_, channels * sizeof(float2)));
    for (int i = 0; i < channels; ++i) host_[i] = make_float2(1.0f + i % 5, 0.1f * (i % 11));
    cudaCheck(cudaMalloc(&device_, channels * sizeof(float2)));
  }
  ~SiPixelGainCalibration() { cudaFreeHost(host_), cudaFree(device_); }
  const PixelGains& getGPUProductAsync(cudaStream_t stream) const {
    return gpu_.dataForCurrentDeviceAsync(stream, [this](PixelGains& d, cudaStream_t s) {
      d.gainAndPedestal = device_;
      d.channels = channels_;
      cudaCheck(cudaMemcpyAsync(device_, host_, channels_ * sizeof(float2), cudaMemcpyHostToDevice, s));
    });
  }

 private:
  int channels_;
  float2 *host_{}, *device_{};
  cms::cuda::ESProduct<PixelGains> gpu_;
};

__global__ void calibDigis(PixelGains gains, float* charge, int n, int event) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 g = gains.gainAndPedestal[gains.channels - 1 - i];
  charge[i] = g.x * float((i + event) & 255) - g.y;
}

class EventProcessor {
 public:
  EventProcessor(const SiPixelGainCalibration& es, int n) : es_(es), n_(n) {
    cudaCheck(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaCheck(cudaMalloc(&charge_, n * sizeof(float)));
  }
  ~EventProcessor() {
    cudaStreamSynchronize(stream_);
    cudaFree(charge_);
    cudaStreamDestroy(stream_);
  }
  void acquire(int event) {
    const PixelGains& gains = es_.getGPUProductAsync(stream_);
    calibDigis<<<(n_ + 255) / 256, 256, 0, stream_>>>(gains, charge_, n_, event);
    cudaCheck(cudaGetLastError());
  }
  float sample() {
    float h;
    cudaCheck(cudaStreamSynchronize(stream_));
    cudaCheck(cudaMemcpy(&h, charge_ + 1, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  const SiPixelGainCalibration& es_;
  int n_;
  cudaStream_t stream_{};
  float* charge_{};
};

int main() {
  SiPixelGainCalibration calib(1 << 24);
  std::vector<std::unique_ptr<EventProcessor>> streams;
  for (int s = 0; s < 4; ++s) streams.push_back(std::make_unique<EventProcessor>(calib, 1 << 16));
  for (int ev = 0; ev < 8; ++ev) streams[ev % streams.size()]->acquire(ev);
  for (auto& s : streams) std::printf("%f\n", s->sample());
  cudaCheck(cudaDeviceSynchronize());
  streams.clear();
  return 0;
}
