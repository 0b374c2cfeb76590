// Stage graph of a radar processor: stages are closures, buffers are exchanged
// between them with one pair of events for each buffer.
#include <cuda_runtime.h>
#include <functional>
#include <utility>
#include <vector>

namespace radar {

struct Handoff {
  float2* data = nullptr;
  cudaEvent_t full = nullptr;
  cudaEvent_t empty = nullptr;

  void produce(cudaStream_t s, const std::function<void(float2*, cudaStream_t)>& body) {
    cudaStreamWaitEvent(s, empty, 0);
    body(data, s);
    cudaEventRecord(full, s);
  }
  void consume(cudaStream_t s, const std::function<void(const float2*, cudaStream_t)>& body) {
    cudaStreamWaitEvent(s, full, 0);
    body(data, s);
    cudaEventRecord(empty, s);
  }
};

__global__ void mix(const short2* adc, float2* out, int n, float phase) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s, c;
  sincosf(phase * i, &s, &c);
  out[i] = make_float2(adc[i].x * c - adc[i].y * s, adc[i].x * s + adc[i].y * c);
}

__global__ void power(const float2* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i].x * in[i].x + in[i].y * in[i].y;
}

class Processor {
 public:
  Processor(int samples, float* spectrum) : n_(samples), spectrum_(spectrum) {
    cudaStreamCreateWithFlags(&front_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&back_, cudaStreamNonBlocking);
    for (Handoff& h : buf_) {
      cudaMalloc(&h.data, n_ * sizeof(float2));
      cudaEventCreateWithFlags(&h.full, cudaEventDisableTiming);
      cudaEventCreateWithFlags(&h.empty, cudaEventDisableTiming);
    }
    cudaMemsetAsync(spectrum_, 0, n_ * sizeof(float), back_);
  }
  ~Processor() {
    cudaStreamSynchronize(front_);
    cudaStreamSynchronize(back_);
    for (Handoff& h : buf_) {
      cudaEventDestroy(h.empty);
      cudaEventDestroy(h.full);
      cudaFree(h.data);
    }
    cudaStreamDestroy(back_);
    cudaStreamDestroy(front_);
  }

  void pulse(const short2* adc, float phase) {
    Handoff& h = buf_[toggle_];
    toggle_ ^= 1;
    const int grid = (n_ + 255) / 256;
    h.produce(front_, [=](float2* dst, cudaStream_t s) { mix<<<grid, 256, 0, s>>>(adc, dst, n_, phase); });
    h.consume(back_, [this, grid](const float2* src, cudaStream_t s) {
      power<<<grid, 256, 0, s>>>(src, spectrum_, n_);
    });
  }

  const float* spectrum() {
    cudaStreamSynchronize(back_);
    return spectrum_;
  }

 private:
  int n_;
  float* spectrum_;
  cudaStream_t front_{}, back_{};
  Handoff buf_[2];
  int toggle_ = 0;
};

const float* integrate(Processor& p, const std::vector<std::pair<const short2*, float>>& pulses) {
  for (const auto& x : pulses) p.pulse(x.first, x.second);
  return p.spectrum();
}

}  // namespace radar
