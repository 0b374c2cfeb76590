// Transform coder with a small queue abstraction: a queue is either "async" or
// "blocking"; codec stages are written once against it.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define DCT_CHECK(x)                                                                \
  do {                                                                              \
    cudaError_t r = (x);                                                            \
    if (r != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(r)); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

namespace codec {

class Queue {
 public:
  Queue() { DCT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  virtual ~Queue() { cudaStreamDestroy(stream_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  cudaStream_t native() const { return stream_; }

  virtual void copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) = 0;
  virtual void afterLaunch() = 0;
  void wait() { DCT_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class AsyncQueue final : public Queue {
 public:
  void copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) override {
    DCT_CHECK(cudaMemcpyAsync(dst, src, bytes, kind, native()));
  }
  void afterLaunch() override { DCT_CHECK(cudaGetLastError()); }
};

class BlockingQueue final : public Queue {
 public:
  void copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) override {
    DCT_CHECK(cudaMemcpyAsync(dst, src, bytes, kind, native()));
    wait();
  }
  void afterLaunch() override {
    DCT_CHECK(cudaGetLastError());
    wait();
  }
};

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) {
    DCT_CHECK(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T)));
  }
  ~Buffer() { cudaFree(p_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return p_; }
  size_t bytes() const { return n_ * sizeof(T); }

 private:
  T* p_ = nullptr;
  size_t n_;
};

__global__ void dct8(const float* in, float* out, int blocks) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  for (int k = 0; k < 8; ++k) {
    float s = 0.f;
    for (int i = 0; i < 8; ++i) s += in[b * 8 + i] * cosf(0.3926991f * (i + 0.5f) * k);
    out[b * 8 + k] = s;
  }
}

__global__ void quantise(const float* in, short* out, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<short>(in[i] / step);
}

// Keeps the previous frame on the device for the inter predictor.
class Encoder {
 public:
  Encoder(Queue& q, int n) : q_(q), n_(n), frame_(n), previous_(n), coeff_(n), codes_(n) {}
  ~Encoder() { q_.wait(); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  void encode(const std::vector<float>& samples, std::vector<short>& out, float step) {
    q_.copy(frame_.get(), samples.data(), frame_.bytes(), cudaMemcpyHostToDevice);
    dct8<<<(n_ / 8 + 127) / 128, 128, 0, q_.native()>>>(frame_.get(), coeff_.get(), n_ / 8);
    q_.afterLaunch();
    q_.copy(previous_.get(), frame_.get(), frame_.bytes(), cudaMemcpyDeviceToDevice);
    quantise<<<(n_ + 255) / 256, 256, 0, q_.native()>>>(coeff_.get(), codes_.get(), step, n_);
    q_.afterLaunch();
    q_.copy(out.data(), codes_.get(), codes_.bytes(), cudaMemcpyDeviceToHost);
  }

 private:
  Queue& q_;
  int n_;
  Buffer<float> frame_;
  Buffer<float> previous_;
  Buffer<float> coeff_;
  Buffer<short> codes_;
};

}  // namespace codec

int main() {
  const int n = 1 << 22;
  std::vector<float> samples(n);
  for (int i = 0; i < n; ++i) samples[i] = std::sin(0.001f * i);
  std::vector<short> codes(n);

  codec::BlockingQueue queue;
  codec::Encoder enc(queue, n);
  for (int frame = 0; frame < 8; ++frame) enc.encode(samples, codes, 0.02f);
  queue.wait();
  std::printf("first code %d\n", codes[0]);
  return 0;
}
