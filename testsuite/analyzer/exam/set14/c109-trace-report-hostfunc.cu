// Call-trace statistics: histograms are copied to pinned slots and handed to a
// writer thread by a host function behind the copy.
#include <cuda_runtime.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#define TR_CHECK(x)                                                              \
  do {                                                                           \
    cudaError_t tr_e = (x);                                                      \
    if (tr_e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(tr_e)); \
  } while (0)

namespace trace {

constexpr int kBins = 1024;

__global__ void histogram(const uint32_t* durations, int n, uint32_t* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[durations[i] % kBins], 1u);
}

class Reporter {
 public:
  using Sink = std::function<void(const uint32_t* bins, int count)>;

  explicit Reporter(Sink sink) : sink_(std::move(sink)) {
    TR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TR_CHECK(cudaMalloc(reinterpret_cast<void**>(&bins_), kBins * sizeof(uint32_t)));
    TR_CHECK(cudaMemsetAsync(bins_, 0, kBins * sizeof(uint32_t), stream_));
    for (auto& s : slots_) {
      s.owner = this;
      TR_CHECK(cudaMallocHost(reinterpret_cast<void**>(&s.host), kBins * sizeof(uint32_t)));
      idle_.push_back(&s);
    }
    writer_ = std::thread([this] { writeLoop(); });
  }
  ~Reporter() {
    cudaStreamSynchronize(stream_);
    {
      std::lock_guard<std::mutex> lk(mu_);
      stop_ = true;
    }
    cv_.notify_all();
    writer_.join();
    for (auto& s : slots_) cudaFreeHost(s.host);
    cudaFree(bins_);
    cudaStreamDestroy(stream_);
  }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void add(const uint32_t* durations, int n, cudaEvent_t ready) {
    TR_CHECK(cudaStreamWaitEvent(stream_, ready, 0));
    histogram<<<(n + 255) / 256, 256, 0, stream_>>>(durations, n, bins_);
    TR_CHECK(cudaGetLastError());
  }

  // Ends an interval; the sink sees the histogram later, in the writer thread.
  void flush() {
    Slot* s = takeIdle();
    TR_CHECK(cudaMemcpyAsync(s->host, bins_, kBins * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream_));
    TR_CHECK(cudaMemsetAsync(bins_, 0, kBins * sizeof(uint32_t), stream_));
    TR_CHECK(cudaLaunchHostFunc(stream_, &Reporter::arrived, s));
  }

 private:
  struct Slot {
    Reporter* owner = nullptr;
    uint32_t* host = nullptr;
  };

  static void CUDART_CB arrived(void* arg) {
    auto* s = static_cast<Slot*>(arg);
    {
      std::lock_guard<std::mutex> lk(s->owner->mu_);
      s->owner->full_.push_back(s);
    }
    s->owner->cv_.notify_all();
  }

  Slot* takeIdle() {
    std::unique_lock<std::mutex> lk(mu_);
    cv_.wait(lk, [this] { return !idle_.empty(); });
    Slot* s = idle_.front();
    idle_.pop_front();
    return s;
  }

  void writeLoop() {
    std::unique_lock<std::mutex> lk(mu_);
    for (;;) {
      cv_.wait(lk, [this] { return stop_ || !full_.empty(); });
      if (full_.empty()) return;
      Slot* s = full_.front();
      full_.pop_front();
      lk.unlock();
      sink_(s->host, kBins);
      lk.lock();
      idle_.push_back(s);
      cv_.notify_all();
    }
  }

  Sink sink_;
  cudaStream_t stream_ = nullptr;
  uint32_t* bins_ = nullptr;
  std::array<Slot, 3> slots_;
  std::deque<Slot*> idle_;
  std::deque<Slot*> full_;
  std::mutex mu_;
  std::condition_variable cv_;
  bool stop_ = false;
  std::thread writer_;
};

}  // namespace trace
