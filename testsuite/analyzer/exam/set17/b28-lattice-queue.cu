// Reaction-diffusion on a torus, driven through a small in-order queue.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

namespace sim {

inline void check(cudaError_t err, const char* what) {
  if (err == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(err));
  std::exit(EXIT_FAILURE);
}

__global__ void reactDiffuse(const float2* in, float2* out, int nx, int ny, float feed,
                             float kill) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  auto at = [&](int i, int j) { return in[((j + ny) % ny) * nx + (i + nx) % nx]; };
  const float2 c = at(x, y), w = at(x - 1, y), e = at(x + 1, y), n = at(x, y - 1), s = at(x, y + 1);
  const float lapU = w.x + e.x + n.x + s.x - 4.f * c.x;
  const float lapV = w.y + e.y + n.y + s.y - 4.f * c.y;
  const float uvv = c.x * c.y * c.y;
  out[y * nx + x] = make_float2(c.x + 0.16f * lapU - uvv + feed * (1.f - c.x),
                                c.y + 0.08f * lapV + uvv - (feed + kill) * c.y);
}

// In-order execution of whatever is submitted; independent of all other queues.
class Queue {
 public:
  Queue() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create queue"); }
  Queue(const Queue&) = delete;
  ~Queue() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  template <typename Task>
  void submit(Task&& task) {
    std::forward<Task>(task)(stream_);
    check(cudaGetLastError(), "submit");
  }
  void drain() { check(cudaStreamSynchronize(stream_), "drain"); }
  cudaStream_t native() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Field {
 public:
  Field(Queue& queue, size_t cells) : queue_(queue), cells_(cells) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()), "allocate field");
  }
  Field(const Field&) = delete;
  ~Field() {
    queue_.drain();
    cudaFree(data_);
  }
  void upload(const std::vector<float2>& host) {
    check(cudaMemcpyAsync(data_, host.data(), bytes(), cudaMemcpyHostToDevice, queue_.native()),
          "upload");
    queue_.drain();
  }
  void download(std::vector<float2>& host) const {
    host.resize(cells_);
    check(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost), "download");
  }
  float2* data() const { return data_; }
  void swap(Field& other) { std::swap(data_, other.data_); }

 private:
  size_t bytes() const { return cells_ * sizeof(float2); }
  Queue& queue_;
  size_t cells_;
  float2* data_ = nullptr;
};

class Dish {
 public:
  Dish(Queue& queue, int nx, int ny)
      : queue_(queue), nx_(nx), ny_(ny), cur_(queue, size_t(nx) * ny), next_(queue, size_t(nx) * ny) {}

  void seed() {
    std::vector<float2> init(size_t(nx_) * ny_, make_float2(1.f, 0.f));
    for (int y = ny_ / 2 - 8; y < ny_ / 2 + 8; ++y)
      for (int x = nx_ / 2 - 8; x < nx_ / 2 + 8; ++x) init[size_t(y) * nx_ + x] = {0.5f, 0.25f};
    cur_.upload(init);
  }

  void advance(int steps) {
    const dim3 block(32, 8);
    const dim3 grid((nx_ + 31) / 32, (ny_ + 7) / 8);
    for (int i = 0; i < steps; ++i) {
      queue_.submit([&](cudaStream_t s) {
        reactDiffuse<<<grid, block, 0, s>>>(cur_.data(), next_.data(), nx_, ny_, 0.035f, 0.062f);
      });
      cur_.swap(next_);
    }
  }

  double meanActivator() {
    cur_.download(host_);
    const double sum = std::accumulate(host_.begin(), host_.end(), 0.0,
                                       [](double a, const float2& v) { return a + v.y; });
    return sum / static_cast<double>(host_.size());
  }

 private:
  Queue& queue_;
  int nx_, ny_;
  Field cur_, next_;
  std::vector<float2> host_;
};

}  // namespace sim

int main() {
  sim::Queue queue;
  sim::Dish dish(queue, 1024, 1024);
  dish.seed();
  for (int epoch = 0; epoch < 20; ++epoch) {
    dish.advance(200);
    std::printf("%4d  %.6f\n", epoch, dish.meanActivator());
  }
  return 0;
}
