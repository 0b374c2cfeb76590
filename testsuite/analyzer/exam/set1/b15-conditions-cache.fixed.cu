#include <cuda_runtime.h>

#include <cassert>
#include <cstring>
#include <mutex>
#include <vector>

#define cudaCheck(x) do { bool ok_ = cudaSuccess == (x); assert(ok_); (void)ok_; } while (0)

namespace cms {

  struct GainPedestal {
    float gain;
    float pedestal;
  };

  /// Device copy of one conditions payload, filled by the first stream that
  /// asks for it; all other streams wait for that copy.
  class ConditionsOnDevice {
  public:
    explicit ConditionsOnDevice(std::vector<GainPedestal> const& payload) : size_(payload.size()) {
      cudaError_t rc = cudaMallocHost(&host_, size_ * sizeof(GainPedestal));
      cudaCheck(rc);
      std::memcpy(host_, payload.data(), size_ * sizeof(GainPedestal));
      rc = cudaMalloc(&device_, size_ * sizeof(GainPedestal));
      cudaCheck(rc);
      rc = cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
      cudaCheck(rc);
    }

    ~ConditionsOnDevice() {
      cudaDeviceSynchronize();
      cudaEventDestroy(event_);
      cudaFree(device_);
      cudaFreeHost(host_);
    }

    ConditionsOnDevice(ConditionsOnDevice const&) = delete;

    GainPedestal const* get(cudaStream_t stream) {
      std::lock_guard<std::mutex> guard(mutex_);
      if (not filled_) {
        transfer(stream);
        filled_ = true;
      } else {
        cudaError_t rc = cudaStreamWaitEvent(stream, event_, 0);
        cudaCheck(rc);
      }
      return device_;
    }

    std::size_t size() const { return size_; }

  private:
    void transfer(cudaStream_t stream) {
      cudaError_t rc = cudaMemcpyAsync(
          device_, host_, size_ * sizeof(GainPedestal), cudaMemcpyHostToDevice, stream);
      cudaCheck(rc);
      rc = cudaEventRecord(event_, stream);
      cudaCheck(rc);
    }

    std::mutex mutex_;
    bool filled_ = false;
    std::size_t size_;
    GainPedestal* host_ = nullptr;
    GainPedestal* device_ = nullptr;
    cudaEvent_t event_ = nullptr;
  };

  __global__ void calibrate(GainPedestal const* cond, unsigned short const* adc, float* charge, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
      charge[i] = (adc[i] - cond[i].pedestal) * cond[i].gain;
  }

  class CalibrationProducer {
  public:
    explicit CalibrationProducer(ConditionsOnDevice& conditions) : conditions_(conditions) {
      cudaError_t rc = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
      cudaCheck(rc);
    }
    ~CalibrationProducer() {
      cudaStreamSynchronize(stream_);
      cudaStreamDestroy(stream_);
    }

    void acquire(unsigned short const* adc, float* charge) {
      auto const* cond = conditions_.get(stream_);
      int n = static_cast<int>(conditions_.size());
      calibrate<<<(n + 255) / 256, 256, 0, stream_>>>(cond, adc, charge, n);
      cudaError_t rc = cudaGetLastError();
      cudaCheck(rc);
    }

  private:
    ConditionsOnDevice& conditions_;
    cudaStream_t stream_ = nullptr;
  };

}  // namespace cms
