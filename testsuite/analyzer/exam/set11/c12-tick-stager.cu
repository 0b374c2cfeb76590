// Streams market ticks to the device through a ring of page-locked segments and keeps a running volume-weighted
// price per instrument.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TK_CHECK(expr)                                                                            \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct Tick {
  std::uint32_t instrument;
  float price;
  float size;
};

constexpr std::size_t kSegment = 8192;
constexpr int kInstruments = 1024;

__global__ void accumulate(const Tick* ticks, int count, float* turnover, float* volume) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  atomicAdd(&turnover[ticks[i].instrument], ticks[i].price * ticks[i].size);
  atomicAdd(&volume[ticks[i].instrument], ticks[i].size);
}

__global__ void divide(const float* turnover, const float* volume, float* vwap, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) vwap[i] = volume[i] > 0.f ? turnover[i] / volume[i] : 0.f;
}

class SegmentRing {
 public:
  struct Segment {
    Tick* host = nullptr;
    Tick* device = nullptr;
    cudaEvent_t copied = nullptr;
    std::size_t used = 0;
  };

  SegmentRing() {
    for (Segment& s : ring_) {
      TK_CHECK(cudaMallocHost(reinterpret_cast<void**>(&s.host), kSegment * sizeof(Tick)));
      TK_CHECK(cudaMalloc(reinterpret_cast<void**>(&s.device), kSegment * sizeof(Tick)));
      TK_CHECK(cudaEventCreateWithFlags(&s.copied, cudaEventDisableTiming));
    }
  }
  SegmentRing(const SegmentRing&) = delete;
  ~SegmentRing() {
    for (Segment& s : ring_) {
      cudaFreeHost(s.host);
      cudaFree(s.device);
      cudaEventDestroy(s.copied);
    }
  }

  Segment& current() { return ring_[turn_]; }

  // Sends the current segment; the next one may be written when this returns.
  Segment& flip(cudaStream_t stream) {
    Segment& full = ring_[turn_];
    TK_CHECK(cudaMemcpyAsync(full.device, full.host, full.used * sizeof(Tick), cudaMemcpyHostToDevice, stream));
    TK_CHECK(cudaEventRecord(full.copied, stream));
    turn_ = (turn_ + 1) % ring_.size();
    Segment& fresh = ring_[turn_];
    TK_CHECK(cudaEventSynchronize(fresh.copied));
    fresh.used = 0;
    return full;
  }

 private:
  std::array<Segment, 3> ring_{};
  std::size_t turn_ = 0;
};

class VwapEngine {
 public:
  VwapEngine() {
    TK_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (float** p : {&turnover_, &volume_, &vwap_}) {
      TK_CHECK(cudaMalloc(reinterpret_cast<void**>(p), kInstruments * sizeof(float)));
      TK_CHECK(cudaMemsetAsync(*p, 0, kInstruments * sizeof(float), stream_));
    }
  }
  VwapEngine(const VwapEngine&) = delete;
  ~VwapEngine() {
    cudaStreamSynchronize(stream_);
    for (float* p : {turnover_, volume_, vwap_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }

  void push(const Tick& t) {
    SegmentRing::Segment& s = ring_.current();
    s.host[s.used++] = t;
    if (s.used == kSegment) drain();
  }

  std::vector<float> snapshot() {
    if (ring_.current().used > 0) drain();
    divide<<<(kInstruments + 127) / 128, 128, 0, stream_>>>(turnover_, volume_, vwap_, kInstruments);
    TK_CHECK(cudaGetLastError());
    std::vector<float> out(kInstruments);
    TK_CHECK(cudaMemcpyAsync(out.data(), vwap_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    TK_CHECK(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void drain() {
    const SegmentRing::Segment& full = ring_.flip(stream_);
    const int n = static_cast<int>(full.used);
    accumulate<<<(n + 127) / 128, 128, 0, stream_>>>(full.device, n, turnover_, volume_);
    TK_CHECK(cudaGetLastError());
  }

  SegmentRing ring_;
  cudaStream_t stream_ = nullptr;
  float* turnover_ = nullptr;
  float* volume_ = nullptr;
  float* vwap_ = nullptr;
};

int main() {
  VwapEngine engine;
  for (std::uint32_t i = 0; i < 1000000; ++i)
    engine.push({(i * 2654435761u) % kInstruments, 100.f + static_cast<float>(i % 17) * 0.01f, 1.f});
  const std::vector<float> vwap = engine.snapshot();
  std::printf("vwap of instrument 0: %.4f\n", vwap[0]);
}
