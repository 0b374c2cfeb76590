// Intraday revaluation: discount curves are uploaded on one stream per currency and
// consumed by a single pricing stream.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace desk {

inline void check(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define DESK_CHECK(call) ::desk::check((call), #call)

constexpr int kTenors = 64;

struct Swap {
  int currency;
  int first_tenor;
  int last_tenor;
  float fixed_rate;
  float notional;
};

__global__ void bootstrap(const float* __restrict__ quotes, float* __restrict__ curve) {
  __shared__ float acc[kTenors];
  const int t = threadIdx.x;
  acc[t] = log1pf(quotes[t]);
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i <= t; ++i) sum += acc[i];
  curve[t] = expf(-sum);
}

__global__ void value_swaps(const Swap* __restrict__ book, int n, const float* __restrict__ curves,
                            float* __restrict__ pv) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Swap s = book[i];
  const float* df = curves + s.currency * kTenors;
  float annuity = 0.f;
  for (int t = s.first_tenor; t <= s.last_tenor; ++t) annuity += df[t];
  pv[i] = s.notional * (df[s.first_tenor] - df[s.last_tenor] - s.fixed_rate * annuity);
}

// Upload lane of one currency: its stream, its staging row and the event that marks the
// curve as usable.
class Lane {
 public:
  Lane() {
    DESK_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DESK_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    DESK_CHECK(cudaMallocHost(&staging_, kTenors * sizeof(float)));
    DESK_CHECK(cudaMalloc(&quotes_, kTenors * sizeof(float)));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaFree(quotes_);
    cudaFreeHost(staging_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void push(const std::vector<float>& quotes, float* curve) {
    std::copy_n(quotes.begin(), kTenors, staging_);
    DESK_CHECK(cudaMemcpyAsync(quotes_, staging_, kTenors * sizeof(float), cudaMemcpyHostToDevice,
                               stream_));
    bootstrap<<<1, kTenors, 0, stream_>>>(quotes_, curve);
    DESK_CHECK(cudaGetLastError());
    DESK_CHECK(cudaEventRecord(ready_, stream_));
  }
  void gate(cudaStream_t consumer) const { DESK_CHECK(cudaStreamWaitEvent(consumer, ready_, 0)); }
  void drain() const { DESK_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  float* staging_ = nullptr;
  float* quotes_ = nullptr;
};

class CurveBoard {
 public:
  CurveBoard(int currencies, const std::vector<Swap>& book) : n_(static_cast<int>(book.size())) {
    for (int c = 0; c < currencies; ++c) lanes_.push_back(std::make_unique<Lane>());
    DESK_CHECK(cudaStreamCreateWithFlags(&pricing_, cudaStreamNonBlocking));
    DESK_CHECK(cudaMalloc(&curves_, currencies * kTenors * sizeof(float)));
    DESK_CHECK(cudaMalloc(&book_, n_ * sizeof(Swap)));
    DESK_CHECK(cudaMalloc(&pv_, n_ * sizeof(float)));
    DESK_CHECK(cudaMemcpyAsync(book_, book.data(), n_ * sizeof(Swap), cudaMemcpyHostToDevice,
                               pricing_));
    DESK_CHECK(cudaStreamSynchronize(pricing_));
  }
  ~CurveBoard() {
    cudaStreamSynchronize(pricing_);
    lanes_.clear();
    cudaFree(pv_);
    cudaFree(book_);
    cudaFree(curves_);
    cudaStreamDestroy(pricing_);
  }
  CurveBoard(const CurveBoard&) = delete;
  CurveBoard& operator=(const CurveBoard&) = delete;

  // Revalues the book against fresh quotes, one row per currency.
  std::vector<float> revalue(const std::vector<std::vector<float>>& quotes) {
    gate_on_curves();
    push_quotes(quotes);
    value_swaps<<<(n_ + 127) / 128, 128, 0, pricing_>>>(book_, n_, curves_, pv_);
    DESK_CHECK(cudaGetLastError());
    std::vector<float> pv(n_);
    DESK_CHECK(cudaMemcpyAsync(pv.data(), pv_, n_ * sizeof(float), cudaMemcpyDeviceToHost, pricing_));
    DESK_CHECK(cudaStreamSynchronize(pricing_));
    for (auto& lane : lanes_) lane->drain();
    return pv;
  }

 private:
  void gate_on_curves() {
    for (const auto& lane : lanes_) lane->gate(pricing_);
  }
  void push_quotes(const std::vector<std::vector<float>>& quotes) {
    for (std::size_t c = 0; c < lanes_.size(); ++c) lanes_[c]->push(quotes[c], curves_ + c * kTenors);
  }

  int n_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  cudaStream_t pricing_ = nullptr;
  float* curves_ = nullptr;
  Swap* book_ = nullptr;
  float* pv_ = nullptr;
};

}  // namespace desk
