// Option greeks: one captured graph per expiry, refreshed on every market tick.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace greeks {

void ensure(cudaError_t e, const char* where) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "[greeks] %s: %s\n", where, cudaGetErrorString(e));
  std::abort();
}

// Recycles page-locked blocks; a released block may be handed out again at once.
class PinnedPool : public std::enable_shared_from_this<PinnedPool> {
 public:
  struct Returner {
    std::shared_ptr<PinnedPool> pool;
    size_t bytes;
    void operator()(void* p) const { pool->put(p, bytes); }
  };
  using Block = std::unique_ptr<void, Returner>;

  ~PinnedPool() {
    for (auto& e : idle_) cudaFreeHost(e.second);
  }

  Block get(size_t bytes) {
    bytes = (bytes + 4095) & ~size_t{4095};
    {
      std::lock_guard<std::mutex> lk(m_);
      auto it = idle_.find(bytes);
      if (it != idle_.end()) {
        void* p = it->second;
        idle_.erase(it);
        return Block(p, Returner{shared_from_this(), bytes});
      }
    }
    void* p = nullptr;
    ensure(cudaMallocHost(&p, bytes), "pinned");
    return Block(p, Returner{shared_from_this(), bytes});
  }

 private:
  void put(void* p, size_t bytes) {
    std::lock_guard<std::mutex> lk(m_);
    idle_.emplace(bytes, p);
  }
  std::mutex m_;
  std::multimap<size_t, void*> idle_;
};

__global__ void black_scholes_delta(const float* strikes, const float* spot, float* delta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) delta[i] = normcdff(__logf(*spot / strikes[i]) / 0.2f + 0.1f);
}

class ExpiryBook {
 public:
  ExpiryBook(std::shared_ptr<PinnedPool> pool, std::vector<float> strikes)
      : pool_(std::move(pool)), strikes_(std::move(strikes)) {
    ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    ensure(cudaMalloc(&d_strikes_, bytes()), "strikes");
    ensure(cudaMalloc(&d_delta_, bytes()), "delta");
    ensure(cudaMalloc(&d_spot_, sizeof(float)), "spot");
    ensure(cudaMallocHost(&spot_, sizeof(float)), "spot");
    ensure(cudaMallocHost(&delta_, bytes()), "delta");
    build();
  }

  ~ExpiryBook() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFreeHost(delta_);
    cudaFreeHost(spot_);
    cudaFree(d_spot_);
    cudaFree(d_delta_);
    cudaFree(d_strikes_);
    cudaStreamDestroy(stream_);
  }

  ExpiryBook(const ExpiryBook&) = delete;
  ExpiryBook& operator=(const ExpiryBook&) = delete;

  const float* tick(float spot) {
    *spot_ = spot;
    ensure(cudaGraphLaunch(exec_, stream_), "launch");
    ensure(cudaStreamSynchronize(stream_), "tick");
    return delta_;
  }

 private:
  int n() const { return static_cast<int>(strikes_.size()); }
  size_t bytes() const { return strikes_.size() * sizeof(float); }

  // d_strikes_ shares its lines with the scenario runs, hence the upload in every replay.
  void build() {
    ensure(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "begin");
    upload(d_strikes_, strikes_);
    ensure(cudaMemcpyAsync(d_spot_, spot_, sizeof(float), cudaMemcpyHostToDevice, stream_), "spot");
    black_scholes_delta<<<(n() + 127) / 128, 128, 0, stream_>>>(d_strikes_, d_spot_, d_delta_, n());
    ensure(cudaMemcpyAsync(delta_, d_delta_, bytes(), cudaMemcpyDeviceToHost, stream_), "delta");
    cudaGraph_t g{};
    ensure(cudaStreamEndCapture(stream_, &g), "end");
    ensure(cudaGraphInstantiate(&exec_, g, 0), "instantiate");
    ensure(cudaGraphDestroy(g), "destroy");
  }

  void upload(float* dst, const std::vector<float>& src) {
    PinnedPool::Block block = pool_->get(src.size() * sizeof(float));
    std::copy(src.begin(), src.end(), static_cast<float*>(block.get()));
    ensure(cudaMemcpyAsync(dst, block.get(), src.size() * sizeof(float), cudaMemcpyHostToDevice,
                           stream_), "upload");
  }

  std::shared_ptr<PinnedPool> pool_;
  std::vector<float> strikes_;
  cudaStream_t stream_{};
  float *d_strikes_ = nullptr, *d_delta_ = nullptr, *d_spot_ = nullptr;
  float *spot_ = nullptr, *delta_ = nullptr;
  cudaGraphExec_t exec_{};
};

}  // namespace greeks

int main() {
  auto pool = std::make_shared<greeks::PinnedPool>();
  std::vector<std::unique_ptr<greeks::ExpiryBook>> books;
  for (int month = 1; month <= 6; ++month) {
    std::vector<float> strikes(2048);
    for (size_t i = 0; i < strikes.size(); ++i) strikes[i] = 50.f + 0.05f * i + month;
    books.push_back(std::make_unique<greeks::ExpiryBook>(pool, std::move(strikes)));
  }
  for (int t = 0; t < 1000; ++t)
    for (auto& b : books) std::printf("%f\n", b->tick(100.f + 0.01f * t)[0]);
  return 0;
}
