// Software radio: a tuner thread and a demodulator thread pass device buffers through two queues.
// Whoever holds a buffer also holds its events.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#define RF(x)                                                                \
  do {                                                                       \
    cudaError_t e_ = (x);                                                    \
    if (e_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_));    \
      std::abort();                                                          \
    }                                                                        \
  } while (0)

constexpr int kBurst = 1 << 16;

__global__ void mixDown(float2* iq, int n, int burst) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float phase = 0.001f * i + 0.1f * burst;
  iq[i] = make_float2(cosf(phase), sinf(phase));
}

__global__ void detectPower(const float2* iq, int n, float* power) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) power[i] += iq[i].x * iq[i].x + iq[i].y * iq[i].y;
}

struct Burst {
  float2* iq = nullptr;
  cudaEvent_t filled = nullptr;
  cudaEvent_t emptied = nullptr;
};

template <typename T>
class Channel {
 public:
  void push(T value) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      items_.push_back(value);
    }
    ready_.notify_one();
  }
  T pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return !items_.empty(); });
    T value = items_.front();
    items_.pop_front();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> items_;
};

using BurstQueue = Channel<Burst*>;

static void tune(BurstQueue& empty, BurstQueue& full, int bursts) {
  cudaStream_t stream;
  RF(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int k = 0; k < bursts; ++k) {
    Burst* b = empty.pop();
    RF(cudaStreamWaitEvent(stream, b->emptied, 0));
    mixDown<<<(kBurst + 255) / 256, 256, 0, stream>>>(b->iq, kBurst, k);
    RF(cudaGetLastError());
    RF(cudaEventRecord(b->filled, stream));
    full.push(b);
  }
  full.push(nullptr);
  RF(cudaStreamSynchronize(stream));
  RF(cudaStreamDestroy(stream));
}

static void demodulate(BurstQueue& full, BurstQueue& empty, std::vector<float>& spectrum) {
  cudaStream_t stream;
  RF(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* power = nullptr;
  RF(cudaMallocAsync(&power, sizeof(float) * kBurst, stream));
  RF(cudaMemsetAsync(power, 0, sizeof(float) * kBurst, stream));
  while (Burst* b = full.pop()) {
    RF(cudaStreamWaitEvent(stream, b->filled, 0));
    detectPower<<<(kBurst + 255) / 256, 256, 0, stream>>>(b->iq, kBurst, power);
    RF(cudaGetLastError());
    RF(cudaEventRecord(b->emptied, stream));
    empty.push(b);
  }
  spectrum.resize(kBurst);
  RF(cudaMemcpyAsync(spectrum.data(), power, sizeof(float) * kBurst, cudaMemcpyDeviceToHost, stream));
  RF(cudaFreeAsync(power, stream));
  RF(cudaStreamSynchronize(stream));
  RF(cudaStreamDestroy(stream));
}

static std::vector<Burst> makeBursts(int count) {
  std::vector<Burst> bursts(count);
  for (Burst& b : bursts) {
    RF(cudaMalloc(&b.iq, sizeof(float2) * kBurst));
    RF(cudaEventCreateWithFlags(&b.filled, cudaEventDisableTiming));
    RF(cudaEventCreateWithFlags(&b.emptied, cudaEventDisableTiming));
  }
  return bursts;
}

static void dropBursts(std::vector<Burst>& bursts) {
  for (Burst& b : bursts) {
    RF(cudaFree(b.iq));
    RF(cudaEventDestroy(b.filled));
    RF(cudaEventDestroy(b.emptied));
  }
  bursts.clear();
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 500;
  std::vector<Burst> bursts = makeBursts(4);
  BurstQueue empty, full;
  for (Burst& b : bursts) empty.push(&b);

  std::vector<float> spectrum;
  std::thread demodulator(demodulate, std::ref(full), std::ref(empty), std::ref(spectrum));
  std::thread tuner(tune, std::ref(empty), std::ref(full), count);
  tuner.join();
  demodulator.join();

  double total = 0;
  for (float p : spectrum) total += p;
  std::printf("%d bursts, mean power %.4f\n", count, total / kBurst);
  dropBursts(bursts);
  return 0;
}
