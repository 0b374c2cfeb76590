// Market ticks go to the device through a few page-locked slots.  A host function gives a slot back as
// soon as its copy is over.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

static void ck(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Tick {
  int64_t time;
  int32_t symbol;
  float price;
};

class TickStager {
 public:
  static constexpr size_t kTicks = 4096;

  explicit TickStager(int slots) : slots_(slots) {
    ck(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      s.owner = this;
      ck(cudaMallocHost(reinterpret_cast<void**>(&s.ticks), kTicks * sizeof(Tick)));
      free_.push_back(&s);
    }
  }
  ~TickStager() {
    cudaStreamSynchronize(stream_);
    for (Slot& s : slots_) cudaFreeHost(s.ticks);
    cudaStreamDestroy(stream_);
  }
  TickStager(const TickStager&) = delete;
  TickStager& operator=(const TickStager&) = delete;

  // Copies `n` ticks to `device` on stream(); `ticks` may be reused at once.
  void push(Tick* device, const Tick* ticks, size_t n) {
    Slot* s = take();
    std::memcpy(s->ticks, ticks, n * sizeof(Tick));
    ck(cudaMemcpyAsync(device, s->ticks, n * sizeof(Tick), cudaMemcpyHostToDevice, stream_));
    ck(cudaLaunchHostFunc(stream_, &TickStager::giveBack, s));
  }

  cudaStream_t stream() const { return stream_; }

 private:
  struct Slot {
    TickStager* owner = nullptr;
    Tick* ticks = nullptr;
  };

  static void CUDART_CB giveBack(void* arg) {
    Slot* s = static_cast<Slot*>(arg);
    {
      std::lock_guard<std::mutex> lock(s->owner->m_);
      s->owner->free_.push_back(s);
    }
    s->owner->returned_.notify_one();
  }

  Slot* take() {
    std::unique_lock<std::mutex> lock(m_);
    returned_.wait(lock, [this] { return !free_.empty(); });
    Slot* s = free_.back();
    free_.pop_back();
    return s;
  }

  cudaStream_t stream_{};
  std::vector<Slot> slots_;
  std::mutex m_;
  std::condition_variable returned_;
  std::vector<Slot*> free_;
};

__global__ void lastPrices(const Tick* ticks, float* price, int n, int symbols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && ticks[i].symbol < symbols) atomicExch(&price[ticks[i].symbol], ticks[i].price);
}

int main() {
  constexpr int kSymbols = 512;
  Tick* device = nullptr;
  float* price = nullptr;
  ck(cudaMalloc(reinterpret_cast<void**>(&device), TickStager::kTicks * sizeof(Tick)));
  ck(cudaMalloc(reinterpret_cast<void**>(&price), kSymbols * sizeof(float)));
  {
    TickStager stager(3);
    ck(cudaMemsetAsync(price, 0, kSymbols * sizeof(float), stager.stream()));
    std::vector<Tick> burst(TickStager::kTicks);
    for (int round = 0; round < 200; ++round) {
      for (size_t i = 0; i < burst.size(); ++i) burst[i] = {round, int32_t(i % kSymbols), 100.f + round};
      stager.push(device, burst.data(), burst.size());
      const int n = static_cast<int>(burst.size());
      lastPrices<<<(n + 255) / 256, 256, 0, stager.stream()>>>(device, price, n, kSymbols);
      ck(cudaGetLastError());
    }
    std::vector<float> host(kSymbols);
    ck(cudaMemcpyAsync(host.data(), price, kSymbols * sizeof(float), cudaMemcpyDeviceToHost, stager.stream()));
    ck(cudaStreamSynchronize(stager.stream()));
    std::printf("%f\n", host[0]);
  }
  ck(cudaFree(device));
  ck(cudaFree(price));
  return 0;
}
