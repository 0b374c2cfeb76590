// Producer threads allocate and fill packets on their own streams, one consumer folds them and frees
// them on its stream. Memory, events and streams change hands without the host ever blocking on them.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

inline void need(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::abort();
}
#define NEED(x) need((x), #x)

constexpr int kBins = 4096;

struct Packet {
  float* spectrum = nullptr;
  cudaEvent_t ready = nullptr;
  int antenna = 0;
};

class PacketQueue {
 public:
  explicit PacketQueue(int producers) : open_(producers) {}

  void push(Packet p) {
    {
      std::lock_guard<std::mutex> g(mu_);
      q_.push_back(p);
    }
    cv_.notify_one();
  }
  void close() {
    {
      std::lock_guard<std::mutex> g(mu_);
      --open_;
    }
    cv_.notify_all();
  }
  std::optional<Packet> pop() {
    std::unique_lock<std::mutex> l(mu_);
    cv_.wait(l, [this] { return !q_.empty() || open_ == 0; });
    if (q_.empty()) return std::nullopt;
    Packet p = q_.front();
    q_.pop_front();
    return p;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<Packet> q_;
  int open_;
};

__global__ void synthesize(float* spectrum, int antenna, int shot) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kBins) spectrum[i] = 1.f / (1 + ((i + 17 * antenna + shot) & 63));
}

__global__ void fold(const float* spectrum, float* sum, float weight) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kBins) sum[i] += weight * spectrum[i];
}

void produce(int antenna, int shots, PacketQueue& queue) {
  NEED(cudaSetDevice(0));
  cudaStream_t stream = nullptr;
  NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int s = 0; s < shots; ++s) {
    Packet p;
    p.antenna = antenna;
    NEED(cudaMallocAsync(reinterpret_cast<void**>(&p.spectrum), kBins * sizeof(float), stream));
    synthesize<<<kBins / 128, 128, 0, stream>>>(p.spectrum, antenna, s);
    NEED(cudaEventCreateWithFlags(&p.ready, cudaEventDisableTiming));
    NEED(cudaEventRecord(p.ready, stream));
    queue.push(p);
  }
  queue.close();
  // Pending work still completes, the packets carry their own events.
  NEED(cudaStreamDestroy(stream));
}

class Correlator {
 public:
  Correlator() {
    NEED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    NEED(cudaMallocAsync(reinterpret_cast<void**>(&sum_), kBins * sizeof(float), stream_));
    NEED(cudaMemsetAsync(sum_, 0, kBins * sizeof(float), stream_));
  }
  ~Correlator() {
    cudaFreeAsync(sum_, stream_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Correlator(const Correlator&) = delete;
  Correlator& operator=(const Correlator&) = delete;

  void absorb(Packet p) {
    NEED(cudaStreamWaitEvent(stream_, p.ready, 0));
    NEED(cudaEventDestroy(p.ready));
    fold<<<kBins / 128, 128, 0, stream_>>>(p.spectrum, sum_, 1.f / (1 + p.antenna));
    NEED(cudaFreeAsync(p.spectrum, stream_));
  }

  std::vector<float> result() {
    std::vector<float> out(kBins);
    NEED(cudaMemcpyAsync(out.data(), sum_, kBins * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    NEED(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  cudaStream_t stream_ = nullptr;
  float* sum_ = nullptr;
};

int main() {
  constexpr int kAntennas = 4;
  PacketQueue queue(kAntennas);
  std::vector<std::thread> antennas;
  for (int a = 0; a < kAntennas; ++a) antennas.emplace_back(produce, a, 500, std::ref(queue));

  Correlator correlator;
  int packets = 0;
  while (auto p = queue.pop()) {
    correlator.absorb(*p);
    ++packets;
  }
  for (auto& t : antennas) t.join();

  const std::vector<float> sum = correlator.result();
  std::printf("%d packets, bin 0 = %g\n", packets, sum[0]);
  return 0;
}
