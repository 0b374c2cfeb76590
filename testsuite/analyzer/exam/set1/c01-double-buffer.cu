// Streaming filter over a long host signal: two device buffers, an upload
// stream and a filter stream that overlap.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace dsp {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void fir(const float* in, float* out, const float* taps, int ntaps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < ntaps && t <= i; ++t) acc += taps[t] * in[i - t];
  out[i] = acc;
}

class StreamingFilter {
  struct Half {
    float* in = nullptr;
    float* out = nullptr;
    cudaEvent_t loaded = nullptr;
    cudaEvent_t done = nullptr;
  };

 public:
  StreamingFilter(const float* taps, int ntaps, int block) : ntaps_(ntaps), block_(block) {
    ok(cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking));
    ok(cudaMalloc(&taps_, sizeof(float) * ntaps));
    ok(cudaMemcpyAsync(taps_, taps, sizeof(float) * ntaps, cudaMemcpyHostToDevice, work_));
    ok(cudaStreamSynchronize(work_));
    for (auto& h : half_) {
      ok(cudaMalloc(&h.in, sizeof(float) * block));
      ok(cudaMalloc(&h.out, sizeof(float) * block));
      ok(cudaEventCreateWithFlags(&h.loaded, cudaEventDisableTiming));
      ok(cudaEventCreateWithFlags(&h.done, cudaEventDisableTiming));
    }
  }

  ~StreamingFilter() {
    cudaStreamSynchronize(load_);
    cudaStreamSynchronize(work_);
    for (auto& h : half_) {
      cudaFree(h.in);
      cudaFree(h.out);
      cudaEventDestroy(h.loaded);
      cudaEventDestroy(h.done);
    }
    cudaFree(taps_);
    cudaStreamDestroy(work_);
    cudaStreamDestroy(load_);
  }

  StreamingFilter(const StreamingFilter&) = delete;
  StreamingFilter& operator=(const StreamingFilter&) = delete;

  // Both arrays are page-locked. Returns when `result` is complete.
  void run(const float* signal, float* result, std::size_t total) {
    std::size_t pos = 0;
    for (int turn = 0; pos < total; ++turn, pos += block_) {
      Half& h = half_[turn & 1];
      int n = static_cast<int>(std::min<std::size_t>(block_, total - pos));
      load(h, signal + pos, n);
      process(h, result + pos, n);
    }
    ok(cudaStreamSynchronize(work_));
  }

 private:
  void load(Half& h, const float* src, int n) {
    // The kernel of two turns ago must be through with this half. In the
    // first two turns the event was never recorded and the wait is a no-op.
    ok(cudaStreamWaitEvent(load_, h.done, 0));
    ok(cudaMemcpyAsync(h.in, src, sizeof(float) * n, cudaMemcpyHostToDevice, load_));
    ok(cudaEventRecord(h.loaded, load_));
  }

  void process(Half& h, float* dst, int n) {
    ok(cudaStreamWaitEvent(work_, h.loaded, 0));
    fir<<<(n + 255) / 256, 256, 0, work_>>>(h.in, h.out, taps_, ntaps_, n);
    ok(cudaGetLastError());
    ok(cudaEventRecord(h.done, work_));
    ok(cudaMemcpyAsync(dst, h.out, sizeof(float) * n, cudaMemcpyDeviceToHost, work_));
  }

  int ntaps_;
  int block_;
  float* taps_ = nullptr;
  cudaStream_t load_ = nullptr;
  cudaStream_t work_ = nullptr;
  std::array<Half, 2> half_;
};

}  // namespace dsp
