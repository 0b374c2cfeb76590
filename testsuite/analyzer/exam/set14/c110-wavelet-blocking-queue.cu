// Wavelet image coder on ordinary streams: the queue copies with cudaMemcpy
// and launches in a stream made by cudaStreamCreate.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define WV_CHECK(x)                                                             \
  do {                                                                          \
    cudaError_t e = (x);                                                        \
    if (e != cudaSuccess) {                                                     \
      std::fprintf(stderr, "wavelet: %s (%d)\n", cudaGetErrorString(e), __LINE__); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

class Queue {
 public:
  Queue() { WV_CHECK(cudaStreamCreate(&stream_)); }
  ~Queue() { cudaStreamDestroy(stream_); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  cudaStream_t native() const { return stream_; }
  void copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
    WV_CHECK(cudaMemcpy(dst, src, bytes, kind));
  }
  void wait() { WV_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

__global__ void haar(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 >= n) return;
  out[i] = 0.5f * (in[2 * i] + in[2 * i + 1]);
  out[n / 2 + i] = 0.5f * (in[2 * i] - in[2 * i + 1]);
}

__global__ void threshold(float* c, int n, float t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && fabsf(c[i]) < t) c[i] = 0.f;
}

class Coder {
 public:
  Coder(Queue& q, int n) : q_(q), n_(n) {
    WV_CHECK(cudaMalloc(reinterpret_cast<void**>(&image_), n * sizeof(float)));
    WV_CHECK(cudaMalloc(reinterpret_cast<void**>(&coeff_), n * sizeof(float)));
  }
  ~Coder() {
    q_.wait();
    cudaFree(image_);
    cudaFree(coeff_);
  }
  Coder(const Coder&) = delete;
  Coder& operator=(const Coder&) = delete;

  void encode(const std::vector<float>& image, std::vector<float>& coefficients, int levels) {
    q_.copy(image_, image.data(), n_ * sizeof(float), cudaMemcpyHostToDevice);
    int len = n_;
    for (int l = 0; l < levels; ++l, len /= 2) {
      haar<<<(len / 2 + 255) / 256, 256, 0, q_.native()>>>(image_, coeff_, len);
      WV_CHECK(cudaGetLastError());
      q_.copy(image_, coeff_, len * sizeof(float), cudaMemcpyDeviceToDevice);
    }
    threshold<<<(n_ + 255) / 256, 256, 0, q_.native()>>>(image_, n_, 0.01f);
    WV_CHECK(cudaGetLastError());
    q_.copy(coefficients.data(), image_, n_ * sizeof(float), cudaMemcpyDeviceToHost);
  }

 private:
  Queue& q_;
  int n_;
  float* image_ = nullptr;
  float* coeff_ = nullptr;
};

int main() {
  const int n = 1 << 20;
  std::vector<float> image(n), coefficients(n);
  for (int i = 0; i < n; ++i) image[i] = static_cast<float>(i % 255);
  Queue queue;
  Coder coder(queue, n);
  for (int frame = 0; frame < 4; ++frame) coder.encode(image, coefficients, 5);
  std::printf("dc %f\n", coefficients[0]);
  return 0;
}
