// Scenario revaluation for a derivatives book. Device memory comes from a
// best-fit arena; P&L vectors are fetched on a copy stream while the next
// scenario is being priced.
#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <stdexcept>
#include <vector>

namespace risk {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Arena {
 public:
  explicit Arena(size_t bytes) {
    ok(cudaMalloc(&base_, bytes));
    free_.emplace(bytes, base_);
  }
  ~Arena() { cudaFree(base_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes) {
    bytes = (bytes + 255) & ~size_t(255);
    auto it = free_.lower_bound(bytes);
    if (it == free_.end()) throw std::bad_alloc();
    char* p = it->second;
    const size_t left = it->first - bytes;
    free_.erase(it);
    if (left) free_.emplace(left, p + bytes);
    live_[p] = bytes;
    return p;
  }
  void release(void* p) {
    auto it = live_.find(static_cast<char*>(p));
    free_.emplace(it->second, it->first);
    live_.erase(it);
  }

 private:
  char* base_ = nullptr;
  std::multimap<size_t, char*> free_;
  std::map<char*, size_t> live_;
};

template <class T>
class Scratch {
 public:
  Scratch(Arena& a, size_t n) : arena_(&a), p_(static_cast<T*>(a.allocate(n * sizeof(T)))) {}
  ~Scratch() { arena_->release(p_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return p_; }

 private:
  Arena* arena_;
  T* p_;
};

__global__ void shockCurves(const float* spot, float* shocked, float bump, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) shocked[i] = spot[i] * (1.f + bump);
}

__global__ void price(const float* shocked, const float* strike, float* pnl, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pnl[i] = fmaxf(shocked[i] - strike[i], 0.f);
}

class Revaluer {
 public:
  Revaluer(Arena& arena, const float* spot, const float* strike, int n)
      : arena_(arena), spot_(spot), strike_(strike), n_(n) {
    ok(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&priced_, cudaEventDisableTiming));
    ok(cudaEventCreateWithFlags(&fetched_, cudaEventDisableTiming));
  }
  ~Revaluer() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(copy_);
    cudaEventDestroy(priced_);
    cudaEventDestroy(fetched_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(copy_);
  }

  void scenario(float bump, float* hostPnl) {
    Scratch<float> pnl(arena_, n_);
    {
      Scratch<float> shocked(arena_, n_);
      shockCurves<<<blocks(), 256, 0, compute_>>>(spot_, shocked.get(), bump, n_);
      price<<<blocks(), 256, 0, compute_>>>(shocked.get(), strike_, pnl.get(), n_);
      ok(cudaGetLastError());
    }
    fetch(pnl.get(), hostPnl);
  }

  void finish() { ok(cudaStreamSynchronize(copy_)); }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  void fetch(const float* dev, float* host) {
    ok(cudaEventRecord(priced_, compute_));
    ok(cudaStreamWaitEvent(copy_, priced_, 0));
    ok(cudaMemcpyAsync(host, dev, n_ * sizeof(float), cudaMemcpyDeviceToHost, copy_));
    ok(cudaEventRecord(fetched_, copy_));
    ok(cudaStreamWaitEvent(compute_, fetched_, 0));
  }

  Arena& arena_;
  const float* spot_;
  const float* strike_;
  int n_;
  cudaStream_t compute_ = nullptr, copy_ = nullptr;
  cudaEvent_t priced_ = nullptr, fetched_ = nullptr;
};

}  // namespace risk

double worstLoss(const float* spot, const float* strike, int n, const std::vector<float>& bumps) {
  risk::Arena arena(size_t(64) << 20);
  risk::Revaluer rv(arena, spot, strike, n);
  float* pnl = nullptr;
  risk::ok(cudaMallocHost(&pnl, bumps.size() * n * sizeof(float)));
  for (size_t s = 0; s < bumps.size(); ++s) rv.scenario(bumps[s], pnl + s * n);
  rv.finish();
  double worst = 0;
  for (size_t s = 0; s < bumps.size(); ++s) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += pnl[s * n + i];
    worst = sum < worst ? sum : worst;
  }
  risk::ok(cudaFreeHost(pnl));
  return worst;
}
