#include <cuda_runtime.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace acc {

inline void expect(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorName(rc));
}

template <typename T>
struct DeviceDeleter {
  void operator()(T* p) const { cudaFree(p); }
};

template <typename T>
class View {
 public:
  explicit View(std::size_t n) : n_(n) {
    T* p = nullptr;
    expect(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)));
    mem_.reset(p);
  }
  T* data() const { return mem_.get(); }
  std::size_t size() const { return n_; }
  std::size_t bytes() const { return n_ * sizeof(T); }

 private:
  std::unique_ptr<T, DeviceDeleter<T>> mem_;
  std::size_t n_;
};

// A queue whose host-facing operations return after they are complete; kernels are fire and forget.
class Queue {
 public:
  Queue() { expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Queue() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <typename F, typename... Args>
  void exec(unsigned blocks, unsigned threads, F kernel, Args... args) {
    kernel<<<blocks, threads, 0, stream_>>>(args...);
    expect(cudaGetLastError());
  }

  template <typename T>
  void zero(View<T>& v) {
    expect(cudaMemsetAsync(v.data(), 0, v.bytes(), stream_));
  }

  cudaStream_t native() const { return stream_; }

 private:
  cudaStream_t stream_{};
};

template <typename T>
std::vector<T> pull(Queue& queue, const View<T>& v) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> host(v.size());
  expect(cudaMemcpyAsync(host.data(), v.data(), v.bytes(), cudaMemcpyDeviceToHost, queue.native()));
  expect(cudaStreamSynchronize(queue.native()));
  return host;
}

}  // namespace acc

namespace transport {

__global__ void walk(unsigned long long seed, double* tally, int regions, int histories) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= histories) return;
  unsigned long long x = seed ^ (0x9e3779b97f4a7c15ull * (id + 1));
  double weight = 1.0;
  while (weight > 1e-3) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    atomicAdd(&tally[x % regions], weight);
    weight *= 0.9;
  }
}

__global__ void normalise(double* tally, int regions, double inv) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < regions) tally[i] *= inv;
}

class Simulation {
 public:
  explicit Simulation(int regions) : tally_(regions) {}

  void run(int histories, int batches) {
    queue_.zero(tally_);
    for (int b = 0; b < batches; ++b)
      queue_.exec((histories + 255) / 256, 256, walk, 1234ull + b, tally_.data(), int(tally_.size()), histories);
    queue_.exec(unsigned(tally_.size() + 255) / 256, 256, normalise, tally_.data(), int(tally_.size()),
                1.0 / (double(histories) * batches));
  }

  std::vector<double> result() { return acc::pull(queue_, tally_); }

 private:
  acc::View<double> tally_;
  acc::Queue queue_;
};

}  // namespace transport

int main() {
  transport::Simulation sim(4096);
  sim.run(1 << 20, 20);
  double total = 0;
  for (double v : sim.result()) total += v;
  std::cout << "flux " << total << "\n";
}
