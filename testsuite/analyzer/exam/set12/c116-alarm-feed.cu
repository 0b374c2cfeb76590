// Intensive-care monitor: arrhythmia scores are handed to the alarm thread as soon as they are on the host.
#include <cuda_runtime.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CUDA_MUST(x)                                                                \
  do {                                                                              \
    cudaError_t rc_ = (x);                                                          \
    if (rc_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(rc_));              \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

constexpr int kBeds = 64;
constexpr int kWindow = 1000;
constexpr int kSlots = 3;

__global__ void detrend(float* ecg) {
  int bed = blockIdx.x * blockDim.x + threadIdx.x;
  if (bed >= kBeds) return;
  float mean = 0.f;
  for (int t = 0; t < kWindow; ++t) mean += ecg[t * kBeds + bed];
  mean /= kWindow;
  for (int t = 0; t < kWindow; ++t) ecg[t * kBeds + bed] -= mean;
}

__global__ void score(const float* ecg, float* scores) {
  int bed = blockIdx.x * blockDim.x + threadIdx.x;
  if (bed >= kBeds) return;
  int crossings = 0;
  for (int t = 1; t < kWindow; ++t) crossings += (ecg[t * kBeds + bed] > 0.f) != (ecg[(t - 1) * kBeds + bed] > 0.f);
  scores[bed] = crossings / float(kWindow);
}

// Hands slot numbers from the stream to the alarm thread and back.
class SlotQueue {
 public:
  void push(int slot) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      slots_.push_back(slot);
    }
    changed_.notify_one();
  }
  int pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !slots_.empty(); });
    int slot = slots_.front();
    slots_.pop_front();
    return slot;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<int> slots_;
};

struct Slot {
  float* ecg = nullptr;
  float* scores = nullptr;
  float* host_scores = nullptr;  // page-locked
  cudaEvent_t scored = nullptr;
  int index = 0;
  SlotQueue* full = nullptr;
};

void CUDART_CB announce(void* arg) {
  auto* slot = static_cast<Slot*>(arg);
  slot->full->push(slot->index);
}

class Monitor {
 public:
  Monitor() {
    CUDA_MUST(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CUDA_MUST(cudaStreamCreateWithFlags(&download_, cudaStreamNonBlocking));
    for (int i = 0; i < kSlots; ++i) {
      Slot& s = slots_[i];
      CUDA_MUST(cudaMalloc(&s.ecg, sizeof(float) * kBeds * kWindow));
      CUDA_MUST(cudaMalloc(&s.scores, sizeof(float) * kBeds));
      CUDA_MUST(cudaMallocHost(&s.host_scores, sizeof(float) * kBeds));
      CUDA_MUST(cudaEventCreateWithFlags(&s.scored, cudaEventDisableTiming));
      s.index = i;
      s.full = &full_;
      empty_.push(i);
    }
  }
  ~Monitor() {
    CUDA_MUST(cudaStreamSynchronize(compute_));
    CUDA_MUST(cudaStreamSynchronize(download_));
    for (Slot& s : slots_) {
      cudaEventDestroy(s.scored);
      cudaFreeHost(s.host_scores);
      cudaFree(s.scores);
      cudaFree(s.ecg);
    }
    cudaStreamDestroy(download_);
    cudaStreamDestroy(compute_);
  }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  void submit(const float* pinned_ecg) {
    Slot& s = slots_[empty_.pop()];
    CUDA_MUST(cudaMemcpyAsync(s.ecg, pinned_ecg, sizeof(float) * kBeds * kWindow, cudaMemcpyHostToDevice, compute_));
    detrend<<<1, kBeds, 0, compute_>>>(s.ecg);
    score<<<1, kBeds, 0, compute_>>>(s.ecg, s.scores);
    CUDA_MUST(cudaEventRecord(s.scored, compute_));
    deliver(s);
  }

  // Runs on the alarm thread.
  float next_worst() {
    int i = full_.pop();
    float worst = 0.f;
    for (int bed = 0; bed < kBeds; ++bed) worst = worst > slots_[i].host_scores[bed] ? worst : slots_[i].host_scores[bed];
    empty_.push(i);
    return worst;
  }

 private:
  void deliver(Slot& s) {
    CUDA_MUST(cudaStreamWaitEvent(download_, s.scored, 0));
    CUDA_MUST(cudaMemcpyAsync(s.host_scores, s.scores, sizeof(float) * kBeds, cudaMemcpyDeviceToHost, download_));
    CUDA_MUST(cudaLaunchHostFunc(download_, announce, &s));
  }

  cudaStream_t compute_ = nullptr, download_ = nullptr;
  SlotQueue full_, empty_;
  std::array<Slot, kSlots> slots_;
};

int main() {
  constexpr int kWindows = 200;
  float* ecg = nullptr;
  CUDA_MUST(cudaMallocHost(&ecg, sizeof(float) * kBeds * kWindow * kWindows));
  for (long i = 0; i < long(kBeds) * kWindow * kWindows; ++i) ecg[i] = ((i * 48271) % 2001) / 1000.f - 1.f;
  {
    Monitor monitor;
    std::thread alarm([&monitor] {
      for (int w = 0; w < kWindows; ++w) {
        float worst = monitor.next_worst();
        if (worst > 0.6f) std::printf("window %d: %.2f\n", w, worst);
      }
    });
    for (int w = 0; w < kWindows; ++w) monitor.submit(ecg + std::size_t(w) * kBeds * kWindow);
    alarm.join();
  }
  CUDA_MUST(cudaFreeHost(ecg));
  return 0;
}
