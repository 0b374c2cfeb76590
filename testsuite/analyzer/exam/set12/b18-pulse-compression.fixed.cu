// Pulse compression of radar echoes, several beams at a time.
//
// Scratch memory is expensive to allocate, so blocks are kept per size and
// shared by all compressors of the process.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#define CU(x)                                                                           \
  do {                                                                                  \
    cudaError_t cu_err = (x);                                                           \
    if (cu_err != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(cu_err)); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

namespace radar {

struct ScratchKey {
  size_t bytes;
  int device;
  cudaStream_t stream;
  bool operator<(const ScratchKey& o) const { return std::tie(bytes, device, stream) < std::tie(o.bytes, o.device, o.stream); }
};

class ScratchCache {
 public:
  static ScratchCache& instance() {
    static ScratchCache cache;
    return cache;
  }

  // Block for work on `stream`.
  void* get(size_t bytes, cudaStream_t stream) {
    int device = 0;
    CU(cudaGetDevice(&device));
    void*& block = blocks_[ScratchKey{bytes, device, stream}];
    if (block == nullptr) CU(cudaMalloc(&block, bytes));
    return block;
  }

  // To be called when no compressor is alive any more.
  void clear() {
    for (auto& entry : blocks_) CU(cudaFree(entry.second));
    blocks_.clear();
  }

 private:
  ScratchCache() = default;
  std::map<ScratchKey, void*> blocks_;
};

__global__ void window(const float2* echo, float2* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float w = 0.54f - 0.46f * cosf(6.2831853f * i / (n - 1));
  out[i] = make_float2(echo[i].x * w, echo[i].y * w);
}

__global__ void correlate(const float2* windowed, const float2* chirp, int taps, int n, float* power) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float re = 0.0f, im = 0.0f;
  for (int t = 0; t < taps && i + t < n; ++t) {
    const float2 a = windowed[i + t], b = chirp[t];
    re += a.x * b.x + a.y * b.y;
    im += a.y * b.x - a.x * b.y;
  }
  power[i] = re * re + im * im;
}

class Compressor {
 public:
  explicit Compressor(const std::vector<float2>& chirp) : taps_(static_cast<int>(chirp.size())) {
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU(cudaMalloc(reinterpret_cast<void**>(&chirp_), chirp.size() * sizeof(float2)));
    CU(cudaMemcpyAsync(chirp_, chirp.data(), chirp.size() * sizeof(float2), cudaMemcpyHostToDevice, stream_));
    CU(cudaStreamSynchronize(stream_));
  }
  ~Compressor() {
    cudaStreamSynchronize(stream_);
    cudaFree(chirp_);
    cudaStreamDestroy(stream_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  void compress(const float2* echo, int n, float* power) {
    float2* windowed = static_cast<float2*>(ScratchCache::instance().get(n * sizeof(float2), stream_));
    const int grid = (n + 255) / 256;
    window<<<grid, 256, 0, stream_>>>(echo, windowed, n);
    correlate<<<grid, 256, 0, stream_>>>(windowed, chirp_, taps_, n, power);
    CU(cudaGetLastError());
  }

  void wait() { CU(cudaStreamSynchronize(stream_)); }

 private:
  int taps_;
  cudaStream_t stream_ = nullptr;
  float2* chirp_ = nullptr;
};

}  // namespace radar

int main() {
  constexpr int kBeams = 4;
  constexpr int kSamples = 1 << 18;
  std::vector<float2> chirp(128), echo(kSamples);
  for (size_t i = 0; i < chirp.size(); ++i) chirp[i] = make_float2(std::cos(0.001f * i * i), std::sin(0.001f * i * i));
  for (int i = 0; i < kSamples; ++i) echo[i] = make_float2(std::cos(0.3f * i), std::sin(0.3f * i));

  float2* echoes = nullptr;
  float* power = nullptr;
  CU(cudaMalloc(reinterpret_cast<void**>(&echoes), sizeof(float2) * kBeams * kSamples));
  CU(cudaMalloc(reinterpret_cast<void**>(&power), sizeof(float) * kBeams * kSamples));
  for (int b = 0; b < kBeams; ++b)
    CU(cudaMemcpy(echoes + b * kSamples, echo.data(), sizeof(float2) * kSamples, cudaMemcpyHostToDevice));
  CU(cudaDeviceSynchronize());

  {
    std::vector<std::unique_ptr<radar::Compressor>> beams;
    for (int b = 0; b < kBeams; ++b) beams.push_back(std::make_unique<radar::Compressor>(chirp));
    for (int b = 0; b < kBeams; ++b) beams[b]->compress(echoes + b * kSamples, kSamples, power + b * kSamples);
    for (auto& beam : beams) beam->wait();
  }
  radar::ScratchCache::instance().clear();

  std::vector<float> result(kSamples);
  CU(cudaMemcpy(result.data(), power, sizeof(float) * kSamples, cudaMemcpyDeviceToHost));
  double energy = 0.0;
  for (float v : result) energy += v;
  std::printf("energy of beam 0: %.3f\n", energy);
  CU(cudaFree(echoes));
  CU(cudaFree(power));
  return 0;
}
