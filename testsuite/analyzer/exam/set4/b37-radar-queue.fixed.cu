// Radar pulse compression on top of a small queue abstraction that the CPU build
// implements as well.
#include <cuda_runtime.h>
#include <cufft.h>

#include <complex>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

namespace dev {

#define DEV_CHECK(e)                                          \
  do {                                                        \
    if ((e) != 0) throw std::runtime_error(#e " failed");     \
  } while (0)

class Queue {
 public:
  virtual ~Queue() = default;
  virtual void enqueue(const std::function<void(cudaStream_t)>& task) = 0;
  virtual void copyIn(void* dst, const void* src, size_t bytes) = 0;
  virtual void copyOut(void* dst, const void* src, size_t bytes) = 0;
  virtual void wait() = 0;
};

class CudaQueue : public Queue {
 public:
  CudaQueue() { DEV_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~CudaQueue() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  void enqueue(const std::function<void(cudaStream_t)>& task) override {
    task(stream_);
    DEV_CHECK(cudaGetLastError());
  }
  void copyIn(void* dst, const void* src, size_t bytes) override {
    DEV_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, stream_));
    DEV_CHECK(cudaStreamSynchronize(stream_));
  }
  void copyOut(void* dst, const void* src, size_t bytes) override {
    DEV_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, stream_));
    DEV_CHECK(cudaStreamSynchronize(stream_));
  }
  void wait() override { DEV_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace dev

namespace radar {

__global__ void multiplySpectrum(cufftComplex* x, const cufftComplex* ref, int n, int pulses) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * pulses) return;
  cufftComplex a = x[i], b = ref[i % n];
  x[i] = make_float2((a.x * b.x + a.y * b.y) / n, (a.y * b.x - a.x * b.y) / n);
}

template <class T>
struct Buffer {
  explicit Buffer(size_t n) : size(n) { DEV_CHECK(cudaMalloc(reinterpret_cast<void**>(&ptr), n * sizeof(T))); }
  ~Buffer() { cudaFree(ptr); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  size_t bytes() const { return size * sizeof(T); }
  T* ptr = nullptr;
  size_t size;
};

class PulseCompressor {
 public:
  PulseCompressor(dev::Queue& q, int n, int pulses, const std::vector<std::complex<float>>& chirp)
      : q_(q), n_(n), pulses_(pulses), data_(size_t(n) * pulses), ref_(n) {
    DEV_CHECK(cufftPlan1d(&batch_, n, CUFFT_C2C, pulses));
    DEV_CHECK(cufftPlan1d(&single_, n, CUFFT_C2C, 1));
    q_.copyIn(ref_.ptr, chirp.data(), ref_.bytes());
    q_.enqueue([this](cudaStream_t s) {
      DEV_CHECK(cufftSetStream(single_, s));
      DEV_CHECK(cufftExecC2C(single_, ref_.ptr, ref_.ptr, CUFFT_FORWARD));
    });
  }
  ~PulseCompressor() {
    q_.wait();
    cufftDestroy(batch_);
    cufftDestroy(single_);
  }

  std::vector<std::complex<float>> process(const std::vector<std::complex<float>>& echoes) {
    q_.copyIn(data_.ptr, echoes.data(), data_.bytes());
    q_.enqueue([this](cudaStream_t s) {
      const int total = n_ * pulses_;
      DEV_CHECK(cufftSetStream(batch_, s));
      DEV_CHECK(cufftExecC2C(batch_, data_.ptr, data_.ptr, CUFFT_FORWARD));
      multiplySpectrum<<<(total + 255) / 256, 256, 0, s>>>(data_.ptr, ref_.ptr, n_, pulses_);
      DEV_CHECK(cufftExecC2C(batch_, data_.ptr, data_.ptr, CUFFT_INVERSE));
    });
    std::vector<std::complex<float>> out(data_.size);
    q_.copyOut(out.data(), data_.ptr, data_.bytes());
    return out;
  }

 private:
  dev::Queue& q_;
  int n_, pulses_;
  Buffer<cufftComplex> data_, ref_;
  cufftHandle batch_ = 0, single_ = 0;
};

}  // namespace radar

std::vector<std::complex<float>> compressBurst(const std::vector<std::complex<float>>& echoes,
                                               const std::vector<std::complex<float>>& chirp, int pulses) {
  dev::CudaQueue queue;
  radar::PulseCompressor pc(queue, static_cast<int>(chirp.size()), pulses, chirp);
  return pc.process(echoes);
}
