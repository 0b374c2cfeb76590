// Detector conditions, uploaded once for each device by whichever event comes first.
#include <cuda_runtime.h>
#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace conditions {

inline void cudaCheck(cudaError_t result) {
  if (result != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(result));
}

template <typename Payload>
class ESProduct {
public:
  explicit ESProduct(int numDevices) : perDevice_(numDevices) {
    for (int dev = 0; dev < numDevices; ++dev) {
      cudaCheck(cudaSetDevice(dev));
      cudaCheck(cudaEventCreateWithFlags(&perDevice_[dev].ready, cudaEventDisableTiming));
    }
  }
  ~ESProduct() {
    for (auto& data : perDevice_)
      cudaEventDestroy(data.ready);
  }

  template <typename Transfer>
  const Payload& dataForCurrentDeviceAsync(cudaStream_t stream, Transfer transferAsync) const {
    int device = 0;
    cudaCheck(cudaGetDevice(&device));
    Item& data = perDevice_[device];
    std::lock_guard<std::mutex> guard(data.mutex);
    if (!data.queued) {
      transferAsync(data.payload, stream);
      data.fillingStream = stream;
      data.queued = true;
    } else if (data.fillingStream != stream) {
      cudaCheck(cudaStreamWaitEvent(stream, data.ready, 0));
    }
    return data.payload;
  }

private:
  struct Item {
    std::mutex mutex;
    cudaEvent_t ready = nullptr;
    cudaStream_t fillingStream = nullptr;
    bool queued = false;
    Payload payload;
  };
  mutable std::vector<Item> perDevice_;
};

struct GainsOnDevice {
  float* gain = nullptr;
  float* pedestal = nullptr;
};

class GainCalibration {
public:
  GainCalibration(int numDevices, std::vector<float> gain, std::vector<float> pedestal)
      : numDevices_(numDevices), channels_(gain.size()), product_(numDevices) {
    cudaCheck(cudaMallocHost(&pinned_, 2 * channels_ * sizeof(float)));
    std::copy(gain.begin(), gain.end(), pinned_);
    std::copy(pedestal.begin(), pedestal.end(), pinned_ + channels_);
  }
  ~GainCalibration() {
    for (int dev = 0; dev < numDevices_; ++dev) {
      cudaSetDevice(dev);
      cudaDeviceSynchronize();
    }
    cudaFreeHost(pinned_);
  }

  const GainsOnDevice& getAsync(cudaStream_t stream) const {
    return product_.dataForCurrentDeviceAsync(stream, [this](GainsOnDevice& dst, cudaStream_t s) {
      const size_t bytes = channels_ * sizeof(float);
      cudaCheck(cudaMalloc(&dst.gain, bytes));
      cudaCheck(cudaMalloc(&dst.pedestal, bytes));
      cudaCheck(cudaMemcpyAsync(dst.gain, pinned_, bytes, cudaMemcpyHostToDevice, s));
      cudaCheck(cudaMemcpyAsync(dst.pedestal, pinned_ + channels_, bytes, cudaMemcpyHostToDevice, s));
    });
  }

private:
  int numDevices_;
  size_t channels_;
  float* pinned_ = nullptr;
  ESProduct<GainsOnDevice> product_;
};

__global__ void calibrate(const unsigned short* adc, const unsigned* channel, GainsOnDevice g, float* charge, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    charge[i] = (adc[i] - g.pedestal[channel[i]]) * g.gain[channel[i]];
}

void rawToClusters(const GainCalibration& calib, const unsigned short* adc, const unsigned* channel, float* charge,
                   int hits, cudaStream_t stream) {
  const GainsOnDevice& gains = calib.getAsync(stream);
  calibrate<<<(hits + 255) / 256, 256, 0, stream>>>(adc, channel, gains, charge, hits);
  cudaCheck(cudaGetLastError());
}

}  // namespace conditions
