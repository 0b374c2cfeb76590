// Freight routing: a builder thread relaxes cost maps, a dispatcher thread queries them.
// Maps change hands through a bounded channel.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace freight {

#define FR(x)                                                           \
  do {                                                                  \
    cudaError_t fr_ = (x);                                              \
    if (fr_ != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(fr_));    \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

struct CostMap {
  float* dev = nullptr;
  int epoch = -1;
};

class Channel {
 public:
  void send(CostMap m) {
    std::lock_guard<std::mutex> l(mu_);
    q_.push_back(m);
    cv_.notify_one();
  }
  CostMap receive() {
    std::unique_lock<std::mutex> l(mu_);
    cv_.wait(l, [this] { return !q_.empty(); });
    CostMap m = q_.front();
    q_.pop_front();
    return m;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<CostMap> q_;
};

__global__ void seed(float* cost, int n, int depot) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cost[i] = i == depot ? 0.f : 1e30f;
}
__global__ void relax(const float* in, float* out, int side) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= side) return;
  int i = y * side + x;
  float c = in[i];
  if (x) c = fminf(c, in[i - 1] + 1.f);
  if (x + 1 < side) c = fminf(c, in[i + 1] + 1.f);
  if (y) c = fminf(c, in[i - side] + 1.5f);
  if (y + 1 < side) c = fminf(c, in[i + side] + 1.5f);
  out[i] = c;
}
__global__ void lookup(const float* cost, const int* stops, float* answer, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) answer[i] = cost[stops[i]];
}

class Worker {
 public:
  Worker() { FR(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Worker() { FR(cudaStreamDestroy(stream_)); }

 protected:
  void settle() { FR(cudaStreamSynchronize(stream_)); }
  cudaStream_t stream_ = nullptr;
};

class Builder : Worker {
 public:
  Builder(Channel& out, Channel& back, int side) : out_(out), back_(back), side_(side) {
    FR(cudaMalloc(&scratch_, sizeof(float) * side * side));
  }
  ~Builder() { FR(cudaFree(scratch_)); }

  void operator()(int epochs) {
    const int n = side_ * side_;
    dim3 grid((side_ + 127) / 128, side_);
    for (int e = 0; e < epochs; ++e) {
      CostMap m = back_.receive();
      seed<<<(n + 255) / 256, 256, 0, stream_>>>(m.dev, n, e * 97 % n);
      for (int k = 0; k < 100; ++k) {
        relax<<<grid, 128, 0, stream_>>>(m.dev, scratch_, side_);
        relax<<<grid, 128, 0, stream_>>>(scratch_, m.dev, side_);
      }
      m.epoch = e;
      settle();
      out_.send(m);
    }
    out_.send(CostMap{});
  }

 private:
  Channel &out_, &back_;
  int side_;
  float* scratch_ = nullptr;
};

class Dispatcher : Worker {
 public:
  Dispatcher(Channel& in, Channel& back, const std::vector<int>& stops) : in_(in), back_(back), n_(int(stops.size())) {
    FR(cudaMalloc(&stops_, n_ * sizeof(int)));
    FR(cudaMalloc(&answer_, n_ * sizeof(float)));
    FR(cudaMallocHost(&host_, n_ * sizeof(float)));
    FR(cudaMemcpyAsync(stops_, stops.data(), n_ * sizeof(int), cudaMemcpyHostToDevice, stream_));
    settle();
  }
  ~Dispatcher() {
    FR(cudaFree(stops_));
    FR(cudaFree(answer_));
    FR(cudaFreeHost(host_));
  }

  void operator()() {
    for (CostMap m = in_.receive(); m.dev; m = in_.receive()) {
      lookup<<<(n_ + 127) / 128, 128, 0, stream_>>>(m.dev, stops_, answer_, n_);
      FR(cudaMemcpyAsync(host_, answer_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
      settle();
      back_.send(m);
      std::printf("epoch %d: %f\n", m.epoch, host_[0]);
    }
  }

 private:
  Channel &in_, &back_;
  int n_;
  int* stops_ = nullptr;
  float *answer_ = nullptr, *host_ = nullptr;
};

}  // namespace freight

int main() {
  const int side = 1024;
  freight::Channel ready, back;
  std::vector<float*> maps(3);
  for (auto& m : maps) {
    FR(cudaMalloc(&m, sizeof(float) * side * side));
    back.send({m, -1});
  }
  freight::Builder build(ready, back, side);
  freight::Dispatcher dispatch(ready, back, {5, 77, 1024, 4097});
  std::thread a([&] { build(20); });
  std::thread b([&] { dispatch(); });
  a.join();
  b.join();
  for (auto& m : maps) FR(cudaFree(m));
}
