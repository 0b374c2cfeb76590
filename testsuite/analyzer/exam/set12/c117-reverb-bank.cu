// Offline convolution reverb: several impulse responses are applied to the same take, each in a stream of
// its own.  Set-up and read-back use the plain copy calls.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

#define OK_OR_EXIT(x)                                                               \
  do {                                                                              \
    cudaError_t err = (x);                                                          \
    if (err != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s: %s (%d)\n", #x, cudaGetErrorString(err), __LINE__); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

constexpr int kTake = 1 << 18;
constexpr int kResponse = 4096;

__global__ void convolve(const float* take, const float* response, float* wet) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kTake) return;
  float sum = 0.f;
  for (int k = 0; k < kResponse && k <= i; ++k) sum += take[i - k] * response[k];
  wet[i] = sum;
}

__global__ void accumulate_peak(const float* wet, unsigned* peak) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kTake) atomicMax(peak, __float_as_uint(wet[i] < 0.f ? -wet[i] : wet[i]));
}

class DeviceVector {
 public:
  explicit DeviceVector(std::size_t n) : n_(n) { OK_OR_EXIT(cudaMalloc(&p_, n * sizeof(float))); }
  ~DeviceVector() { cudaFree(p_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  void assign(const std::vector<float>& values) {
    OK_OR_EXIT(cudaMemcpy(p_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  std::vector<float> to_host() const {
    std::vector<float> out(n_);
    OK_OR_EXIT(cudaMemcpy(out.data(), p_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
    return out;
  }
  float* get() const { return p_; }

 private:
  float* p_ = nullptr;
  std::size_t n_;
};

// Worker streams take part in default stream ordering.
cudaStream_t make_voice_stream() {
  cudaStream_t s = nullptr;
  OK_OR_EXIT(cudaStreamCreate(&s));
  return s;
}

class Voice {
 public:
  explicit Voice(const std::vector<float>& response) : response_(kResponse), wet_(kTake), stream_(make_voice_stream()) {
    OK_OR_EXIT(cudaMalloc(&peak_, sizeof(unsigned)));
    response_.assign(response);
  }
  ~Voice() {
    OK_OR_EXIT(cudaStreamSynchronize(stream_));
    cudaFree(peak_);
    cudaStreamDestroy(stream_);
  }
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  void reset() { OK_OR_EXIT(cudaMemset(peak_, 0, sizeof(unsigned))); }

  void render(const DeviceVector& take) {
    convolve<<<kTake / 256, 256, 0, stream_>>>(take.get(), response_.get(), wet_.get());
    accumulate_peak<<<kTake / 256, 256, 0, stream_>>>(wet_.get(), peak_);
    OK_OR_EXIT(cudaGetLastError());
  }

  std::vector<float> wet() const { return wet_.to_host(); }

  float peak() const {
    unsigned bits = 0;
    OK_OR_EXIT(cudaMemcpy(&bits, peak_, sizeof bits, cudaMemcpyDeviceToHost));
    float value;
    static_assert(sizeof value == sizeof bits, "");
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  DeviceVector response_;
  DeviceVector wet_;
  cudaStream_t stream_;
  unsigned* peak_ = nullptr;
};

std::vector<float> room(float seconds, int seed) {
  std::vector<float> ir(kResponse);
  for (int i = 0; i < kResponse; ++i)
    ir[i] = std::exp(-6.9f * i / (seconds * 48000.f)) * (((i * 7919 + seed) % 200) / 100.f - 1.f);
  return ir;
}

}  // namespace

int main() {
  std::vector<std::unique_ptr<Voice>> voices;
  for (int v = 0; v < 4; ++v) voices.push_back(std::make_unique<Voice>(room(0.4f + 0.3f * v, v)));

  DeviceVector take(kTake);
  for (int t = 0; t < 3; ++t) {
    std::vector<float> samples(kTake);
    for (int i = 0; i < kTake; ++i) samples[i] = std::sin(0.02f * i * (t + 1));
    take.assign(samples);
    for (auto& v : voices) {
      v->reset();
      v->render(take);
    }
    for (auto& v : voices) std::printf("take %d: peak %.3f, last sample %.3f\n", t, v->peak(), v->wet().back());
  }
  return 0;
}
