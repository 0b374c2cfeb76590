// Bootstraps discount curves of several currencies on a ring of streams and values a
// multi-currency book on top of all of them.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace curves {

void check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(e));
  std::exit(1);
}
#define CURVES(call) ::curves::check((call), __LINE__)

__global__ void bootstrap(float* discount, int tenors, float rate) {
  if (threadIdx.x != 0) return;
  float annuity = 0.f;
  for (int t = 0; t < tenors; ++t) {
    const float par = rate + 0.0002f * t;
    discount[t] = (1.f - par * annuity) / (1.f + par);
    annuity += discount[t];
  }
}

__global__ void valueBook(const float* discount, int currencies, int tenors, float* value, int trades) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= trades) return;
  float v = 0.f;
  for (int c = 0; c < currencies; ++c) v += discount[c * tenors + i % tenors] * (i % 7 - 3);
  value[i] = v;
}

// Joins streams into one; a single event is enough because a wait keeps the state
// that the event had when the wait was enqueued.
class Funnel {
 public:
  explicit Funnel(cudaStream_t into) : into_(into) {
    CURVES(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
  }
  ~Funnel() { cudaEventDestroy(event_); }
  Funnel(const Funnel&) = delete;
  Funnel& operator=(const Funnel&) = delete;

  void join(cudaStream_t from) {
    CURVES(cudaEventRecord(event_, from));
    CURVES(cudaStreamWaitEvent(into_, event_, 0));
  }
  void fork(cudaStream_t to) {
    CURVES(cudaEventRecord(event_, into_));
    CURVES(cudaStreamWaitEvent(to, event_, 0));
  }

 private:
  cudaStream_t into_;
  cudaEvent_t event_ = nullptr;
};

template <std::size_t N>
class Lanes {
 public:
  Lanes() {
    for (auto& s : streams_) CURVES(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~Lanes() {
    for (auto s : streams_) cudaStreamDestroy(s);
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  cudaStream_t operator[](std::size_t i) const { return streams_[i % N]; }

 private:
  std::array<cudaStream_t, N> streams_{};
};

class Valuation {
 public:
  Valuation(int currencies, int tenors, int trades)
      : currencies_(currencies), tenors_(tenors), trades_(trades) {
    CURVES(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CURVES(cudaMalloc(&discount_, sizeof(float) * currencies * tenors));
    CURVES(cudaMalloc(&value_, sizeof(float) * trades));
  }
  ~Valuation() {
    cudaDeviceSynchronize();
    cudaFree(value_);
    cudaFree(discount_);
    cudaStreamDestroy(main_);
  }
  Valuation(const Valuation&) = delete;
  Valuation& operator=(const Valuation&) = delete;

  void scenario(float shift) {
    Funnel funnel(main_);
    for (int c = 0; c < currencies_; ++c) {
      funnel.fork(lanes_[c]);
      bootstrap<<<1, 32, 0, lanes_[c]>>>(discount_ + c * tenors_, tenors_, 0.01f + 0.004f * c + shift);
      CURVES(cudaGetLastError());
    }
    for (int c = 0; c < currencies_; ++c) funnel.join(lanes_[c]);
    valueBook<<<(trades_ + 255) / 256, 256, 0, main_>>>(discount_, currencies_, tenors_, value_, trades_);
    CURVES(cudaGetLastError());
  }

  double total() const {
    std::vector<float> host(trades_);
    CURVES(cudaMemcpyAsync(host.data(), value_, sizeof(float) * trades_, cudaMemcpyDeviceToHost, main_));
    CURVES(cudaStreamSynchronize(main_));
    double sum = 0;
    for (float v : host) sum += v;
    return sum;
  }

 private:
  int currencies_, tenors_, trades_;
  Lanes<4> lanes_;
  cudaStream_t main_ = nullptr;
  float* discount_ = nullptr;
  float* value_ = nullptr;
};

}  // namespace curves

int main() {
  curves::Valuation book(9, 40, 1 << 18);
  for (int s = -5; s <= 5; ++s) book.scenario(0.0001f * s);
  std::printf("book value %f\n", book.total());
}
