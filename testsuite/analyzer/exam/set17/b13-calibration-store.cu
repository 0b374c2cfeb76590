// Pixel calibration for a detector read-out farm.  The calibration of a run is sent to the
// device once, by whichever worker needs it first; the other workers share the device copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace readout {

#define CK(x)                                                                             \
  do {                                                                                    \
    if (auto rc = (x); rc != cudaSuccess)                                                 \
      throw std::runtime_error(std::string(__func__) + ": " + cudaGetErrorString(rc));    \
  } while (0)

struct Pixel {
  float pedestal;
  float gain;
};

__global__ void calibrate(const unsigned short* adc, const Pixel* pixels, float* energy, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) energy[i] = (static_cast<float>(adc[i]) - pixels[i].pedestal) * pixels[i].gain;
}

class Calibration {
 public:
  explicit Calibration(const std::vector<Pixel>& pixels) : count_(pixels.size()) {
    CK(cudaMallocHost(reinterpret_cast<void**>(&host_), bytes()));
    CK(cudaMalloc(reinterpret_cast<void**>(&device_), bytes()));
    CK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    std::copy(pixels.begin(), pixels.end(), host_);
  }
  ~Calibration() {
    cudaDeviceSynchronize();
    cudaEventDestroy(ready_);
    cudaFree(device_);
    cudaFreeHost(host_);
  }
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;

  // The returned pointer may be used by work that is queued on `stream` from now on.
  const Pixel* on(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!uploaded_) {
      upload(stream);
      uploaded_ = true;
    } else {
      CK(cudaStreamWaitEvent(stream, ready_, 0));
    }
    return device_;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(Pixel); }

  void upload(cudaStream_t stream) {
    CK(cudaMemcpyAsync(device_, host_, bytes(), cudaMemcpyHostToDevice, stream));
  }

  std::size_t count_;
  std::mutex mutex_;
  bool uploaded_ = false;
  Pixel* host_ = nullptr;
  Pixel* device_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

class CalibrationStore {
 public:
  void define(int run, const std::vector<Pixel>& pixels) {
    std::lock_guard<std::mutex> lock(mutex_);
    runs_.emplace(run, std::make_unique<Calibration>(pixels));
  }
  Calibration& at(int run) {
    std::lock_guard<std::mutex> lock(mutex_);
    return *runs_.at(run);
  }

 private:
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Calibration>> runs_;
};

struct Event {
  int run;
  const unsigned short* adc;  // on the device, complete
  float* energy;              // on the device
  int pixels;
};

class Worker {
 public:
  explicit Worker(CalibrationStore& store) : store_(store) {
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void process(const Event& event) {
    const Pixel* pixels = store_.at(event.run).on(stream_);
    calibrate<<<(event.pixels + 255) / 256, 256, 0, stream_>>>(event.adc, pixels, event.energy, event.pixels);
    CK(cudaGetLastError());
  }
  void finish() { CK(cudaStreamSynchronize(stream_)); }

 private:
  CalibrationStore& store_;
  cudaStream_t stream_ = nullptr;
};

// Distributes the events over `nworkers` threads and returns when all energies are complete.
void processRun(CalibrationStore& store, const std::vector<Event>& events, int nworkers) {
  std::vector<std::thread> threads;
  for (int w = 0; w < nworkers; ++w) {
    threads.emplace_back([&store, &events, w, nworkers] {
      Worker worker(store);
      for (std::size_t i = w; i < events.size(); i += nworkers) worker.process(events[i]);
      worker.finish();
    });
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace readout
