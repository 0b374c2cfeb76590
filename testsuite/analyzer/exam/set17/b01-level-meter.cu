// Loudness metering for the mixing console's render thread.
//
// Every bus owns one non-blocking stream.  A bus renders a block of samples on
// that stream, measures it and hands the readings to the UI.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace console {

inline void require(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define LM_TRY(expr) ::console::require((expr), #expr)

__global__ void renderTone(float* out, std::size_t n, float step, float gain, float phase) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = gain * sinf(phase + step * static_cast<float>(i));
}

__global__ void accumulatePeak(const float* in, std::size_t n, int* peakBits) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) atomicMax(peakBits, __float_as_int(fabsf(in[i])));
}

__global__ void accumulatePower(const float* in, std::size_t n, float* sum) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) atomicAdd(sum, in[i] * in[i]);
}

// A single value that lives on the device.
template <typename T>
class DeviceCell {
 public:
  DeviceCell() { LM_TRY(cudaMalloc(reinterpret_cast<void**>(&ptr_), sizeof(T))); }
  ~DeviceCell() { cudaFree(ptr_); }
  DeviceCell(const DeviceCell&) = delete;
  DeviceCell& operator=(const DeviceCell&) = delete;

  T* data() { return ptr_; }

  void clear(cudaStream_t stream = nullptr) {
    LM_TRY(cudaMemsetAsync(ptr_, 0, sizeof(T), stream));
  }

  T read(cudaStream_t stream = nullptr) const {
    T value{};
    LM_TRY(cudaMemcpyAsync(&value, ptr_, sizeof(T), cudaMemcpyDeviceToHost, stream));
    LM_TRY(cudaStreamSynchronize(stream));
    return value;
  }

 private:
  T* ptr_ = nullptr;
};

struct Reading {
  float peakDb;
  float rmsDb;
};

class LevelMeter {
 public:
  Reading measure(const float* samples, std::size_t n, cudaStream_t stream) {
    const unsigned blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
    peakBits_.clear(stream);
    power_.clear(stream);
    accumulatePeak<<<blocks, kThreads, 0, stream>>>(samples, n, peakBits_.data());
    LM_TRY(cudaGetLastError());
    accumulatePower<<<blocks, kThreads, 0, stream>>>(samples, n, power_.data());
    LM_TRY(cudaGetLastError());

    union { int bits; float value; } peak;
    peak.bits = peakBits_.read();
    const float power = power_.read(stream);
    return {20.0f * std::log10(peak.value + 1e-9f),
            10.0f * std::log10(power / static_cast<float>(n) + 1e-12f)};
  }

 private:
  static constexpr unsigned kThreads = 256;
  DeviceCell<int> peakBits_;
  DeviceCell<float> power_;
};

class Bus {
 public:
  explicit Bus(std::size_t blockSize) : blockSize_(blockSize) {
    LM_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LM_TRY(cudaMalloc(reinterpret_cast<void**>(&samples_), blockSize_ * sizeof(float)));
  }
  ~Bus() {
    cudaStreamSynchronize(stream_);
    cudaFree(samples_);
    cudaStreamDestroy(stream_);
  }
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  Reading renderBlock(float frequency, float gain) {
    const float step = frequency * 6.2831853f / 48000.0f;
    const unsigned blocks = static_cast<unsigned>((blockSize_ + 255) / 256);
    renderTone<<<blocks, 256, 0, stream_>>>(samples_, blockSize_, step, gain, phase_);
    LM_TRY(cudaGetLastError());
    phase_ += step * static_cast<float>(blockSize_);
    return meter_.measure(samples_, blockSize_, stream_);
  }

 private:
  std::size_t blockSize_;
  float phase_ = 0.0f;
  cudaStream_t stream_ = nullptr;
  float* samples_ = nullptr;
  LevelMeter meter_;
};

std::vector<Reading> sweep(const std::vector<float>& frequencies) {
  auto bus = std::make_unique<Bus>(4096);
  std::vector<Reading> readings;
  readings.reserve(frequencies.size());
  for (float f : frequencies) readings.push_back(bus->renderBlock(f, 0.8f));
  return readings;
}

}  // namespace console
