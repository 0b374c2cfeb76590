// Seismic stacking: a loader thread uploads and filters gathers, the stacking
// thread takes the finished device buffers over.
#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

static void need(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct CudaFree {
  void operator()(float* p) const { cudaFree(p); }
};
using Trace = std::unique_ptr<float, CudaFree>;

struct Gather {
  Trace samples;
  int n = 0;
};

__global__ void bandpass(float* x, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * k / (1.f + fabsf(x[i]));
}
__global__ void addStack(float* stack, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) stack[i] += x[i];
}

template <class T>
class Channel {
 public:
  void push(T v) {
    std::lock_guard<std::mutex> lk(m_);
    q_.push_back(std::move(v));
    cv_.notify_one();
  }
  void close() {
    std::lock_guard<std::mutex> lk(m_);
    closed_ = true;
    cv_.notify_one();
  }
  bool pop(T& v) {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return closed_ || !q_.empty(); });
    if (q_.empty()) return false;
    v = std::move(q_.front());
    q_.pop_front();
    return true;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<T> q_;
  bool closed_ = false;
};

class Loader {
 public:
  using Read = std::function<bool(std::vector<float>&)>;
  Loader(Channel<Gather>& out, Read read) : out_(out), read_(std::move(read)) {
    need(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Loader() { cudaStreamDestroy(stream_); }

  void run() {
    std::vector<float> file;
    while (read_(file)) out_.push(prepare(file));
    out_.close();
  }

 private:
  Gather prepare(const std::vector<float>& file) {
    Gather g;
    g.n = static_cast<int>(file.size());
    float* p = nullptr;
    need(cudaMalloc(&p, g.n * sizeof(float)));
    g.samples.reset(p);
    need(cudaMemcpyAsync(p, file.data(), g.n * sizeof(float), cudaMemcpyHostToDevice, stream_));
    bandpass<<<(g.n + 255) / 256, 256, 0, stream_>>>(p, g.n, 0.7f);
    need(cudaGetLastError());
    need(cudaStreamSynchronize(stream_));
    return g;
  }

  Channel<Gather>& out_;
  Read read_;
  cudaStream_t stream_ = nullptr;
};

std::vector<float> stackSurvey(Loader::Read read, int length) {
  Channel<Gather> channel;
  Loader loader(channel, std::move(read));
  cudaStream_t s = nullptr;
  need(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  float* raw = nullptr;
  need(cudaMalloc(&raw, length * sizeof(float)));
  Trace stack(raw);
  need(cudaMemsetAsync(stack.get(), 0, length * sizeof(float), s));

  std::thread io([&loader] { loader.run(); });
  std::vector<Gather> inFlight;
  Gather g;
  while (channel.pop(g)) {
    const int n = g.n < length ? g.n : length;
    addStack<<<(n + 255) / 256, 256, 0, s>>>(stack.get(), g.samples.get(), n);
    inFlight.push_back(std::move(g));
    if (inFlight.size() == 8) {
      need(cudaStreamSynchronize(s));
      inFlight.clear();
    }
  }
  io.join();
  std::vector<float> out(length);
  need(cudaMemcpyAsync(out.data(), stack.get(), length * sizeof(float), cudaMemcpyDeviceToHost, s));
  need(cudaStreamSynchronize(s));
  need(cudaStreamDestroy(s));
  return out;
}
