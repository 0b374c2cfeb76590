// Minimal C++ port of the cross-device ndarray copy.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

static void runtime_check(cudaError_t status) {
  if (status != cudaSuccess) {
    fprintf(stderr, "CUDARuntimeError: %s\n", cudaGetErrorString(status));
    abort();
  }
}

namespace core {

struct Device {
  explicit Device(int id) : prev(0) {
    runtime_check(cudaGetDevice(&prev));
    runtime_check(cudaSetDevice(id));
  }
  ~Device() { cudaSetDevice(prev); }
  int prev;
};

// The current stream of each device, as set by `with stream:` blocks.
class CurrentStreams {
 public:
  explicit CurrentStreams(int ndev) : streams_(ndev) {
    for (int d = 0; d < ndev; ++d) {
      Device guard(d);
      runtime_check(cudaStreamCreateWithFlags(&streams_[d], cudaStreamNonBlocking));
    }
  }
  ~CurrentStreams() {
    for (auto s : streams_) cudaStreamDestroy(s);
  }
  cudaStream_t get(int dev) const { return streams_[dev]; }

 private:
  std::vector<cudaStream_t> streams_;
};

template <typename T>
class ndarray {
 public:
  ndarray(int dev, size_t n) : dev_(dev), n_(n) {
    Device guard(dev);
    void* p = nullptr;
    runtime_check(cudaMalloc(&p, n * sizeof(T)));
    data_ = std::shared_ptr<T>(static_cast<T*>(p), [dev](T* q) {
      Device g(dev);
      cudaFree(q);
    });
  }
  T* data() const { return data_.get(); }
  size_t size() const { return n_; }
  size_t nbytes() const { return n_ * sizeof(T); }
  int device() const { return dev_; }

  ndarray to_device(int dst_dev, const CurrentStreams& cur) const;

 private:
  int dev_;
  size_t n_;
  std::shared_ptr<T> data_;
};

template <typename T>
ndarray<T> ndarray<T>::to_device(int dst_dev, const CurrentStreams& cur) const {
  ndarray<T> out(dst_dev, n_);
  Device guard(dev_);
  runtime_check(cudaMemcpyPeerAsync(out.data(), dst_dev, data(), dev_, nbytes(), cur.get(dev_)));
  cudaEvent_t copied;
  runtime_check(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  runtime_check(cudaEventRecord(copied, cur.get(dev_)));
  runtime_check(cudaStreamWaitEvent(cur.get(dst_dev), copied, 0));
  runtime_check(cudaEventDestroy(copied));
  return out;
}

}  // namespace core

namespace {

__global__ void arange_kernel(float* x, size_t n, float step) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) x[i] = step * i;
}

__global__ void square_kernel(const float* x, float* y, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

unsigned grid(size_t n) { return unsigned((n + 127) / 128); }

core::ndarray<float> arange(int dev, size_t n, const core::CurrentStreams& cur) {
  core::ndarray<float> a(dev, n);
  core::Device guard(dev);
  arange_kernel<<<grid(n), 128, 0, cur.get(dev)>>>(a.data(), n, 0.5f);
  runtime_check(cudaGetLastError());
  return a;
}

core::ndarray<float> square(const core::ndarray<float>& a, const core::CurrentStreams& cur) {
  core::ndarray<float> out(a.device(), a.size());
  core::Device guard(a.device());
  square_kernel<<<grid(a.size()), 128, 0, cur.get(a.device())>>>(a.data(), out.data(), a.size());
  runtime_check(cudaGetLastError());
  return out;
}

}  // namespace

int main() {
  core::CurrentStreams cur(2);
  auto a = arange(0, 1 << 22, cur);
  auto b = a.to_device(1, cur);
  auto c = square(b, cur);
  std::vector<float> host(c.size());
  core::Device guard(1);
  runtime_check(cudaStreamSynchronize(cur.get(1)));
  runtime_check(cudaStreamSynchronize(cur.get(0)));
  runtime_check(cudaMemcpy(host.data(), c.data(), c.nbytes(), cudaMemcpyDeviceToHost));
  printf("%f\n", host.back());
  return 0;
}
