// Point spread correction of a stereo microscope head. Each camera has its own
// lens model, its own thread and its own stream.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace scope {

#define DIE_ON(x)                                                           \
  do {                                                                      \
    cudaError_t rc = (x);                                                   \
    if (rc != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc));         \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

constexpr int kTaps = 15;
constexpr int kHalf = kTaps / 2;

__constant__ float lensTaps[kTaps];

__global__ void filterRows(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float acc = 0.f;
  for (int k = -kHalf; k <= kHalf; ++k) acc += lensTaps[k + kHalf] * in[y * w + min(max(x + k, 0), w - 1)];
  out[y * w + x] = acc;
}

__global__ void filterColumns(const float* in, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float acc = 0.f;
  for (int k = -kHalf; k <= kHalf; ++k) acc += lensTaps[k + kHalf] * in[min(max(y + k, 0), h - 1) * w + x];
  out[y * w + x] = acc;
}

class Camera {
 public:
  Camera(int w, int h, const std::array<float, kTaps>& taps) : w_(w), h_(h) {
    DIE_ON(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DIE_ON(cudaMallocHost(reinterpret_cast<void**>(&taps_), sizeof(taps)));
    std::memcpy(taps_, taps.data(), sizeof(taps));
    DIE_ON(cudaMallocHost(reinterpret_cast<void**>(&host_), bytes()));
    for (float** p : {&raw_, &rows_, &clean_}) DIE_ON(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
  }
  ~Camera() {
    cudaStreamSynchronize(stream_);
    for (float* p : {raw_, rows_, clean_}) cudaFree(p);
    cudaFreeHost(host_);
    cudaFreeHost(taps_);
    cudaStreamDestroy(stream_);
  }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  // Filters one picture in place.
  void process(std::vector<float>& picture) {
    std::memcpy(host_, picture.data(), bytes());
    DIE_ON(cudaMemcpyAsync(raw_, host_, bytes(), cudaMemcpyHostToDevice, stream_));
    selectLens();
    filter();
    DIE_ON(cudaMemcpyAsync(host_, clean_, bytes(), cudaMemcpyDeviceToHost, stream_));
    DIE_ON(cudaStreamSynchronize(stream_));
    std::memcpy(picture.data(), host_, bytes());
  }

 private:
  std::size_t bytes() const { return std::size_t(w_) * h_ * sizeof(float); }

  void selectLens() {
    DIE_ON(cudaMemcpyToSymbolAsync(lensTaps, taps_, kTaps * sizeof(float), 0, cudaMemcpyHostToDevice, stream_));
  }

  void filter() {
    dim3 grid((w_ + 127) / 128, h_);
    filterRows<<<grid, 128, 0, stream_>>>(raw_, rows_, w_, h_);
    filterColumns<<<grid, 128, 0, stream_>>>(rows_, clean_, w_, h_);
    DIE_ON(cudaGetLastError());
  }

  int w_, h_;
  cudaStream_t stream_ = nullptr;
  float* taps_ = nullptr;
  float* host_ = nullptr;
  float *raw_ = nullptr, *rows_ = nullptr, *clean_ = nullptr;
};

std::array<float, kTaps> gaussian(float sigma) {
  std::array<float, kTaps> t{};
  float sum = 0.f;
  for (int k = -kHalf; k <= kHalf; ++k) sum += t[k + kHalf] = expf(-0.5f * k * k / (sigma * sigma));
  for (float& v : t) v /= sum;
  return t;
}

}  // namespace scope

int main() {
  using namespace scope;
  constexpr int w = 2048, h = 1536;
  Camera left(w, h, gaussian(1.2f)), right(w, h, gaussian(2.9f));

  auto stream = [](Camera& cam, std::vector<float>& picture) {
    for (int frame = 0; frame < 100; ++frame) cam.process(picture);
  };
  std::vector<float> a(std::size_t(w) * h, 0.5f), b(a);
  a[w / 2] = b[w / 2] = 1.f;
  std::thread l(stream, std::ref(left), std::ref(a));
  std::thread r(stream, std::ref(right), std::ref(b));
  l.join();
  r.join();
  std::printf("%f %f\n", a[w / 2], b[w / 2]);
}
