// Order-flow imbalance on the GPU: ticks of one exchange session are batched by
// the feed handler and scored asynchronously.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#define GPU(x)                                                                          \
  do {                                                                                  \
    auto e = (x);                                                                       \
    if (e != cudaSuccess) {                                                             \
      std::fprintf(stderr, "[gpu] %s (%s)\n", cudaGetErrorString(e), #x);               \
      std::exit(EXIT_FAILURE);                                                          \
    }                                                                                   \
  } while (0)

namespace feed {

struct Tick {
  uint32_t instrument;
  float price;
  float size;
  int32_t side;
};

__global__ void imbalance(const Tick* ticks, int n, float* bid, float* ask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Tick t = ticks[i];
  atomicAdd(t.side > 0 ? &bid[t.instrument] : &ask[t.instrument], t.size);
}

class Batch {
 public:
  explicit Batch(size_t cap) : cap_(cap) {
    GPU(cudaHostAlloc(reinterpret_cast<void**>(&host_), cap * sizeof(Tick), cudaHostAllocDefault));
    GPU(cudaMalloc(&dev_, cap * sizeof(Tick)));
    GPU(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
  }
  ~Batch() {
    cudaEventSynchronize(uploaded_);
    cudaEventDestroy(uploaded_);
    cudaFree(dev_);
    cudaFreeHost(host_);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  bool push(const Tick& t) {
    host_[n_++] = t;
    return n_ == cap_;
  }

  size_t upload(cudaStream_t s) {
    const size_t n = n_;
    GPU(cudaMemcpyAsync(dev_, host_, n * sizeof(Tick), cudaMemcpyHostToDevice, s));
    GPU(cudaEventRecord(uploaded_, s));
    n_ = 0;
    return n;
  }

  const Tick* device() const { return dev_; }
  bool empty() const { return n_ == 0; }

 private:
  size_t cap_;
  size_t n_ = 0;
  Tick* host_ = nullptr;
  Tick* dev_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

class ImbalanceEngine {
 public:
  using Sink = std::function<void(const std::vector<float>&, const std::vector<float>&)>;

  ImbalanceEngine(int instruments, size_t batch, Sink sink)
      : instruments_(instruments), batch_(batch), sink_(std::move(sink)) {
    GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU(cudaMalloc(&bid_, instruments * sizeof(float)));
    GPU(cudaMalloc(&ask_, instruments * sizeof(float)));
    reset();
  }
  ~ImbalanceEngine() {
    cudaStreamSynchronize(stream_);
    cudaFree(bid_);
    cudaFree(ask_);
    cudaStreamDestroy(stream_);
  }

  void onTick(const Tick& t) {
    if (batch_.push(t)) submit();
  }

  void endOfBar() {
    if (!batch_.empty()) submit();
    std::vector<float> b(instruments_), a(instruments_);
    GPU(cudaMemcpyAsync(b.data(), bid_, b.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    GPU(cudaMemcpyAsync(a.data(), ask_, a.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    GPU(cudaStreamSynchronize(stream_));
    sink_(b, a);
    reset();
  }

 private:
  void submit() {
    const int n = static_cast<int>(batch_.upload(stream_));
    imbalance<<<(n + 127) / 128, 128, 0, stream_>>>(batch_.device(), n, bid_, ask_);
    GPU(cudaGetLastError());
  }
  void reset() {
    GPU(cudaMemsetAsync(bid_, 0, instruments_ * sizeof(float), stream_));
    GPU(cudaMemsetAsync(ask_, 0, instruments_ * sizeof(float), stream_));
  }

  int instruments_;
  Batch batch_;
  Sink sink_;
  cudaStream_t stream_ = nullptr;
  float* bid_ = nullptr;
  float* ask_ = nullptr;
};

}  // namespace feed

void replaySession(const std::vector<feed::Tick>& session, int instruments, feed::ImbalanceEngine::Sink sink) {
  feed::ImbalanceEngine engine(instruments, 4096, std::move(sink));
  for (const auto& t : session) engine.onTick(t);
  engine.endOfBar();
}
