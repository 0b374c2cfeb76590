// Fraud scoring service. One thread feeds the GPU, a second one writes the
// replies to the client sockets, so that slow clients do not hold up the GPU.
#include <cuda_runtime.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace scoring {

#define OK(x) do { if ((x) != cudaSuccess) { std::perror(#x); std::abort(); } } while (0)

constexpr int kFeatures = 64;
constexpr int kMaxRows = 512;

__global__ void logistic(const float* rows, const float* weights, int n, float* score) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float z = weights[kFeatures];
  for (int f = 0; f < kFeatures; ++f) z += rows[r * kFeatures + f] * weights[f];
  score[r] = 1.f / (1.f + expf(-z));
}

struct Request {
  int fd;
  std::vector<float> rows;
  int count() const { return int(rows.size()) / kFeatures; }
};

// Everything that one request in flight needs.
struct Slot {
  float* hostRows = nullptr;
  float* hostScore = nullptr;
  float* devRows = nullptr;
  float* devScore = nullptr;
  int count = 0;
  int fd = -1;
  cudaEvent_t scored = nullptr;

  void create() {
    OK(cudaMallocHost(&hostRows, kMaxRows * kFeatures * sizeof(float)));
    OK(cudaMallocHost(&hostScore, kMaxRows * sizeof(float)));
    OK(cudaMalloc(&devRows, kMaxRows * kFeatures * sizeof(float)));
    OK(cudaMalloc(&devScore, kMaxRows * sizeof(float)));
    OK(cudaEventCreateWithFlags(&scored, cudaEventDisableTiming));
  }
  void destroy() {
    cudaFreeHost(hostRows);
    cudaFreeHost(hostScore);
    cudaFree(devRows);
    cudaFree(devScore);
    cudaEventDestroy(scored);
  }
};

template <class T>
class Channel {
 public:
  void put(T v) {
    { std::lock_guard<std::mutex> g(mu_); q_.push_back(std::move(v)); }
    cv_.notify_one();
  }
  T get() {
    std::unique_lock<std::mutex> g(mu_);
    cv_.wait(g, [&] { return !q_.empty(); });
    T v = std::move(q_.front());
    q_.pop_front();
    return v;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<T> q_;
};

class Service {
 public:
  explicit Service(const std::array<float, kFeatures + 1>& model) {
    OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OK(cudaMalloc(&weights_, sizeof(model)));
    OK(cudaMemcpyAsync(weights_, model.data(), sizeof(model), cudaMemcpyHostToDevice, stream_));
    OK(cudaStreamSynchronize(stream_));
    for (Slot& s : slots_) {
      s.create();
      idle_.put(&s);
    }
    gpu_ = std::thread([this] { feed(); });
    net_ = std::thread([this] { reply(); });
  }

  ~Service() {
    requests_.put(Request{-1, {}});
    gpu_.join();
    net_.join();
    OK(cudaStreamSynchronize(stream_));
    for (Slot& s : slots_) s.destroy();
    cudaFree(weights_);
    cudaStreamDestroy(stream_);
  }

  void submit(Request r) {
    if (r.fd >= 0 && r.count() > 0) requests_.put(std::move(r));
  }

 private:
  void feed() {
    for (;;) {
      Request r = requests_.get();
      if (r.fd < 0) break;
      Slot* s = idle_.get();
      s->fd = r.fd;
      s->count = r.count() < kMaxRows ? r.count() : kMaxRows;
      std::memcpy(s->hostRows, r.rows.data(), s->count * kFeatures * sizeof(float));
      enqueue(*s);
      finished_.put(s);
    }
    finished_.put(nullptr);
  }

  void enqueue(Slot& s) {
    const int n = s.count;
    OK(cudaMemcpyAsync(s.devRows, s.hostRows, n * kFeatures * sizeof(float), cudaMemcpyHostToDevice, stream_));
    logistic<<<(n + 127) / 128, 128, 0, stream_>>>(s.devRows, weights_, n, s.devScore);
    OK(cudaMemcpyAsync(s.hostScore, s.devScore, n * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    OK(cudaEventRecord(s.scored, stream_));
  }

  void reply() {
    while (Slot* s = finished_.get()) {
      OK(cudaEventSynchronize(s->scored));
      const size_t bytes = s->count * sizeof(float);
      if (::write(s->fd, s->hostScore, bytes) != ssize_t(bytes)) std::perror("write");
      idle_.put(s);
    }
  }

  cudaStream_t stream_ = nullptr;
  float* weights_ = nullptr;
  std::array<Slot, 8> slots_;
  Channel<Request> requests_;
  Channel<Slot*> idle_, finished_;
  std::thread gpu_, net_;
};

}  // namespace scoring
