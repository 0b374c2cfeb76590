// Detector calibration constants, shared by all event streams of a device.
//
// The constants are uploaded once, by whichever event needs them first; every
// other stream only has to order itself behind the upload.

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace det {

#define DET_CUDA(x)                                                                                      \
  do {                                                                                                   \
    const cudaError_t det_rc = (x);                                                                      \
    if (det_rc != cudaSuccess) throw std::runtime_error(std::string(#x) + ": " + cudaGetErrorString(det_rc)); \
  } while (false)

struct Gain {
  float pedestal;
  float slope;
};

struct EventDeleter {
  void operator()(CUevent_st* e) const { cudaEventDestroy(e); }
};
using EventHandle = std::unique_ptr<CUevent_st, EventDeleter>;

inline EventHandle make_event() {
  cudaEvent_t e = nullptr;
  DET_CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return EventHandle(e);
}

class CalibrationStore {
 public:
  explicit CalibrationStore(const std::vector<Gain>& gains) : channels_(gains.size()) {
    DET_CUDA(cudaMallocHost(reinterpret_cast<void**>(&staged_), bytes()));
    for (size_t i = 0; i < channels_; ++i) staged_[i] = gains[i];
  }
  ~CalibrationStore() {
    if (device_) {
      cudaDeviceSynchronize();
      cudaFree(device_);
    }
    cudaFreeHost(staged_);
  }
  CalibrationStore(const CalibrationStore&) = delete;
  CalibrationStore& operator=(const CalibrationStore&) = delete;

  // Constants that work queued on `stream` from now on may read.
  const Gain* get(cudaStream_t stream) {
    if (!ready_.load(std::memory_order_acquire)) {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!ready_.load(std::memory_order_relaxed)) {
        transfer(stream);
        ready_.store(true, std::memory_order_release);
        return device_;
      }
    }
    DET_CUDA(cudaStreamWaitEvent(stream, uploaded_.get(), 0));
    return device_;
  }

  size_t channels() const { return channels_; }

 private:
  size_t bytes() const { return channels_ * sizeof(Gain); }

  void transfer(cudaStream_t stream) {
    uploaded_ = make_event();
    DET_CUDA(cudaMalloc(reinterpret_cast<void**>(&device_), bytes()));
    DET_CUDA(cudaMemcpyAsync(device_, staged_, bytes(), cudaMemcpyHostToDevice, stream));
    DET_CUDA(cudaEventRecord(uploaded_.get(), stream));
  }

  size_t channels_;
  Gain* staged_ = nullptr;
  Gain* device_ = nullptr;
  EventHandle uploaded_;
  std::atomic<bool> ready_{false};
  std::mutex mutex_;
};

__global__ void calibrate(const unsigned short* adc, const Gain* gains, int channels, int hits, float* charge) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= hits) return;
  const Gain g = gains[i % channels];
  charge[i] = (adc[i] - g.pedestal) * g.slope;
}

// Processes the events of one worker thread on a stream of its own.
class EventWorker {
 public:
  EventWorker(std::shared_ptr<CalibrationStore> store, int max_hits) : store_(std::move(store)), max_hits_(max_hits) {
    DET_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DET_CUDA(cudaMalloc(reinterpret_cast<void**>(&adc_), max_hits * sizeof(unsigned short)));
    DET_CUDA(cudaMalloc(reinterpret_cast<void**>(&charge_), max_hits * sizeof(float)));
  }
  ~EventWorker() {
    cudaStreamSynchronize(stream_);
    cudaFree(adc_);
    cudaFree(charge_);
    cudaStreamDestroy(stream_);
  }
  EventWorker(const EventWorker&) = delete;
  EventWorker& operator=(const EventWorker&) = delete;

  std::vector<float> process(const std::vector<unsigned short>& adc) {
    const int hits = static_cast<int>(adc.size());
    if (hits == 0 || hits > max_hits_) throw std::length_error("hits");
    DET_CUDA(cudaMemcpyAsync(adc_, adc.data(), hits * sizeof(unsigned short), cudaMemcpyHostToDevice, stream_));
    const Gain* gains = store_->get(stream_);
    calibrate<<<(hits + 255) / 256, 256, 0, stream_>>>(adc_, gains, static_cast<int>(store_->channels()), hits, charge_);
    DET_CUDA(cudaGetLastError());
    std::vector<float> charge(hits);
    DET_CUDA(cudaMemcpyAsync(charge.data(), charge_, hits * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    DET_CUDA(cudaStreamSynchronize(stream_));
    return charge;
  }

 private:
  std::shared_ptr<CalibrationStore> store_;
  int max_hits_;
  cudaStream_t stream_ = nullptr;
  unsigned short* adc_ = nullptr;
  float* charge_ = nullptr;
};

}  // namespace det
