// Live histogram of the detector's ADC values. Two histograms in managed memory, each attached to a stream of its own:
// the host publishes one while the device fills the other. Works without concurrentManagedAccess.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>

namespace daq {

inline void need(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

constexpr int kChannels = 4096;

__global__ void accumulate(const uint16_t* samples, int count, unsigned* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&bins[samples[i] % kChannels], 1u);
}

// One histogram with its stream.
class Bank {
 public:
  Bank() {
    need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    need(cudaMallocManaged(&bins_, kChannels * sizeof(unsigned), cudaMemAttachHost));
    need(cudaStreamAttachMemAsync(stream_, bins_, 0, cudaMemAttachSingle));
    need(cudaStreamSynchronize(stream_));
    clear();
  }
  ~Bank() {
    cudaStreamSynchronize(stream_);
    cudaFree(bins_);
    cudaStreamDestroy(stream_);
  }
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;

  void clear() {
    for (int c = 0; c < kChannels; ++c) bins_[c] = 0;
  }

  void fill(const uint16_t* samples, int count) {
    accumulate<<<(count + 255) / 256, 256, 0, stream_>>>(samples, count, bins_);
    need(cudaGetLastError());
  }

  void wait_for(cudaEvent_t e) { need(cudaStreamWaitEvent(stream_, e, 0)); }
  void mark(cudaEvent_t e) { need(cudaEventRecord(e, stream_)); }

  // The host's view; blocks until the device has left the bank.
  unsigned* lock() {
    need(cudaStreamSynchronize(stream_));
    return bins_;
  }

 private:
  cudaStream_t stream_ = nullptr;
  unsigned* bins_ = nullptr;
};

// Staging of raw samples: two page-locked buffers and their device copies, filled through one transfer stream.
class SampleFeed {
 public:
  explicit SampleFeed(int capacity) : capacity_(capacity) {
    need(cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking));
    for (auto& b : buffers_) {
      need(cudaMallocHost(&b.host, capacity * sizeof(uint16_t)));
      need(cudaMalloc(&b.device, capacity * sizeof(uint16_t)));
      need(cudaEventCreateWithFlags(&b.sent, cudaEventDisableTiming));
      need(cudaEventCreateWithFlags(&b.used, cudaEventDisableTiming));
    }
  }
  ~SampleFeed() {
    cudaStreamSynchronize(transfer_);
    for (auto& b : buffers_) {
      cudaEventSynchronize(b.used);
      cudaEventDestroy(b.used);
      cudaEventDestroy(b.sent);
      cudaFree(b.device);
      cudaFreeHost(b.host);
    }
    cudaStreamDestroy(transfer_);
  }
  SampleFeed(const SampleFeed&) = delete;
  SampleFeed& operator=(const SampleFeed&) = delete;

  // Lets `source` write up to capacity samples and adds them to `bank`.
  void add(Bank& bank, const std::function<int(uint16_t*, int)>& source) {
    Buffer& b = buffers_[next_];
    next_ ^= 1;
    need(cudaEventSynchronize(b.sent));
    int count = source(b.host, capacity_);
    if (count <= 0) return;
    need(cudaStreamWaitEvent(transfer_, b.used, 0));
    need(cudaMemcpyAsync(b.device, b.host, count * sizeof(uint16_t), cudaMemcpyHostToDevice, transfer_));
    need(cudaEventRecord(b.sent, transfer_));
    bank.wait_for(b.sent);
    bank.fill(b.device, count);
    bank.mark(b.used);
  }

 private:
  struct Buffer {
    uint16_t* host = nullptr;
    uint16_t* device = nullptr;
    cudaEvent_t sent = nullptr;
    cudaEvent_t used = nullptr;
  };

  int capacity_;
  int next_ = 0;
  cudaStream_t transfer_ = nullptr;
  std::array<Buffer, 2> buffers_;
};

class LiveHistogram {
 public:
  explicit LiveHistogram(int capacity) : feed_(capacity) {}

  void add(const std::function<int(uint16_t*, int)>& source) { feed_.add(banks_[active_], source); }

  // Switches to the other bank and hands the contents of the old one to `publish`.
  void rotate(const std::function<void(const unsigned*, int)>& publish) {
    Bank& old = banks_[active_];
    active_ ^= 1;
    unsigned* bins = old.lock();
    publish(bins, kChannels);
    old.clear();
  }

 private:
  std::array<Bank, 2> banks_;
  SampleFeed feed_;
  int active_ = 0;
};

}  // namespace daq
