// Detector calibration that is uploaded once per run and shared by all event workers.
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace calo {

inline void throwOnError(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct GainTable {
  int run = 0;
  int channels = 0;
  float* host = nullptr;    // pinned
  float* device = nullptr;  // filled on first use
  cudaEvent_t ready = nullptr;
  bool uploaded = false;

  GainTable(int run, const std::vector<float>& gains) : run(run), channels(static_cast<int>(gains.size())) {
    throwOnError(cudaMallocHost(&host, gains.size() * sizeof(float)));
    std::memcpy(host, gains.data(), gains.size() * sizeof(float));
    throwOnError(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  }
  ~GainTable() {
    cudaDeviceSynchronize();
    cudaEventDestroy(ready);
    cudaFree(device);
    cudaFreeHost(host);
  }
  GainTable(const GainTable&) = delete;
  GainTable& operator=(const GainTable&) = delete;
};

class CalibrationStore {
 public:
  void add(int run, const std::vector<float>& gains) {
    std::lock_guard<std::mutex> lock(mu_);
    tables_[run] = std::make_unique<GainTable>(run, gains);
  }

  // Returns the device table of a run, usable by work that is queued on `stream` afterwards.
  const float* forStream(int run, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mu_);
    GainTable& t = *tables_.at(run);
    if (t.uploaded) {
      throwOnError(cudaStreamWaitEvent(stream, t.ready, 0));
      return t.device;
    }
    upload(t, stream);
    return t.device;
  }

 private:
  static void upload(GainTable& t, cudaStream_t stream) {
    const size_t bytes = static_cast<size_t>(t.channels) * sizeof(float);
    throwOnError(cudaMalloc(&t.device, bytes));
    throwOnError(cudaMemcpyAsync(t.device, t.host, bytes, cudaMemcpyHostToDevice, stream));
    throwOnError(cudaEventRecord(t.ready, stream));
    t.uploaded = true;
  }

  std::mutex mu_;
  std::map<int, std::unique_ptr<GainTable>> tables_;
};

__global__ void calibrate(const unsigned short* adc, const float* gain, float* energy, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) energy[i] = gain[i] * adc[i];
}

struct Event {
  int run;
  unsigned short* adc;  // device
  float* energy;        // device
  int channels;
};

class Worker {
 public:
  explicit Worker(CalibrationStore& store) : store_(store) {
    throwOnError(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void process(const Event& ev) {
    const float* gain = store_.forStream(ev.run, stream_);
    calibrate<<<(ev.channels + 127) / 128, 128, 0, stream_>>>(ev.adc, gain, ev.energy, ev.channels);
  }

  void finish() { throwOnError(cudaStreamSynchronize(stream_)); }

 private:
  CalibrationStore& store_;
  cudaStream_t stream_ = nullptr;
};

// Spreads the events of a file over `threads` workers. The raw data is resident on the device.
void processFile(CalibrationStore& store, const std::vector<Event>& events, int threads) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      Worker worker(store);
      for (size_t i = next++; i < events.size(); i = next++) worker.process(events[i]);
      worker.finish();
    });
  }
  for (auto& th : pool) th.join();
}

}  // namespace calo
