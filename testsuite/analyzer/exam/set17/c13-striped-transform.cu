// Two streams fill the two halves of one stream-ordered allocation, then one of them reduces it.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#define STRIPE_CHECK(call)                                                           \
  do {                                                                               \
    const cudaError_t e_ = (call);                                                   \
    if (e_ != cudaSuccess)                                                           \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));    \
  } while (0)

namespace stripe {

__global__ void chirp(float* out, size_t begin, size_t end, float rate) {
  const size_t i = begin + size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < end) out[i] = __sinf(rate * float(i) * float(i));
}

__global__ void energy(const float* in, size_t n, float* out) {
  float s = 0.f;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    s += in[i] * in[i];
  atomicAdd(out, s);
}

// Which of the two workers owns what is decided here, and only here.
struct Half {
  size_t begin, end;
};
inline Half lower(size_t n) { return {0, n / 2}; }
inline Half upper(size_t n) { return {n / 2, n}; }

class Block {
 public:
  Block(size_t floats, cudaStream_t home) : home_(home) {
    STRIPE_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&data_), floats * sizeof(float), home_));
  }
  Block(const Block&) = delete;
  ~Block() { cudaFreeAsync(data_, home_); }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t home_;
};

class StripedAnalyzer {
 public:
  StripedAnalyzer() {
    for (cudaStream_t* s : {&home_, &helper_})
      STRIPE_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    STRIPE_CHECK(cudaEventCreateWithFlags(&baton_, cudaEventDisableTiming));
    STRIPE_CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_), sizeof(float)));
  }
  StripedAnalyzer(const StripedAnalyzer&) = delete;
  ~StripedAnalyzer() {
    for (cudaStream_t s : {helper_, home_}) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
    cudaEventDestroy(baton_);
    cudaFreeHost(host_);
  }

  float measure(size_t n, int rounds, float rate) {
    Block total(1, home_);
    STRIPE_CHECK(cudaMemsetAsync(total.data(), 0, sizeof(float), home_));
    for (int r = 0; r < rounds; ++r) {
      Block wave(n, home_);
      pass(home_, helper_);  // the memory exists from here on for the helper too
      fill(wave, lower(n), rate * (r + 1), home_);
      fill(wave, upper(n), rate * (r + 1), helper_);
      pass(helper_, home_);
      energy<<<256, 256, 0, home_>>>(wave.data(), n, total.data());
      STRIPE_CHECK(cudaGetLastError());
    }
    STRIPE_CHECK(cudaMemcpyAsync(host_, total.data(), sizeof(float), cudaMemcpyDeviceToHost, home_));
    STRIPE_CHECK(cudaStreamSynchronize(home_));
    return *host_;
  }

 private:
  // One event serves all hand-overs: a wait refers to the record that came just before it.
  void pass(cudaStream_t from, cudaStream_t to) {
    STRIPE_CHECK(cudaEventRecord(baton_, from));
    STRIPE_CHECK(cudaStreamWaitEvent(to, baton_, 0));
  }

  static void fill(const Block& b, Half h, float rate, cudaStream_t s) {
    const size_t n = h.end - h.begin;
    if (n == 0) return;
    chirp<<<unsigned((n + 255) / 256), 256, 0, s>>>(b.data(), h.begin, h.end, rate);
    STRIPE_CHECK(cudaGetLastError());
  }

  cudaStream_t home_ = nullptr, helper_ = nullptr;
  cudaEvent_t baton_ = nullptr;
  float* host_ = nullptr;
};

}  // namespace stripe
