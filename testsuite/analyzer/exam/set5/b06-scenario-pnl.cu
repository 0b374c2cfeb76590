// P&L attribution over market scenarios; greeks are evaluated on separate streams.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace risk {

void must(cudaError_t rc, const char* where) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "[risk] %s: %s\n", where, cudaGetErrorString(rc));
  std::exit(1);
}

struct Trade { float delta, gamma, vega, notional; };
struct Shock { float spot, vol; };

__global__ void delta_term(const Trade* t, int trades, const Shock* sh, int scenarios, double* pnl) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= scenarios) return;
  double acc = 0;
  for (int k = 0; k < trades; ++k)
    acc += t[k].notional * (t[k].delta * sh[s].spot + 0.5f * t[k].gamma * sh[s].spot * sh[s].spot);
  pnl[s] += acc;
}

__global__ void vega_term(const Trade* t, int trades, const Shock* sh, int scenarios, double* pnl) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= scenarios) return;
  double acc = 0;
  for (int k = 0; k < trades; ++k) acc += t[k].notional * t[k].vega * sh[s].vol;
  pnl[s] += acc;
}

class Attribution {
 public:
  Attribution(int trades, int scenarios) : trades_(trades), scenarios_(scenarios) {
    for (auto* s : {&main_, &spot_, &vol_})
      must(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking), "stream");
    for (auto& e : ev_) must(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "event");
    must(cudaMalloc(&book_, trades * sizeof(Trade)), "book");
    must(cudaMalloc(&shocks_, scenarios * sizeof(Shock)), "shocks");
    must(cudaMalloc(&pnl_, scenarios * sizeof(double)), "pnl");
  }

  ~Attribution() {
    cudaDeviceSynchronize();
    cudaFree(pnl_);
    cudaFree(shocks_);
    cudaFree(book_);
    for (auto e : ev_) cudaEventDestroy(e);
    for (auto s : {main_, spot_, vol_}) cudaStreamDestroy(s);
  }

  void load(const std::vector<Trade>& book, const std::vector<Shock>& shocks) {
    must(cudaMemcpyAsync(book_, book.data(), book.size() * sizeof(Trade), cudaMemcpyHostToDevice, main_), "load");
    must(cudaMemcpyAsync(shocks_, shocks.data(), shocks.size() * sizeof(Shock), cudaMemcpyHostToDevice, main_), "load");
    must(cudaMemsetAsync(pnl_, 0, scenarios_ * sizeof(double), main_), "zero");
    must(cudaStreamSynchronize(main_), "load");
  }

  void evaluate() {
    fan_out();
    spot_greeks(spot_);
    vol_greeks(vol_);
    fan_in();
  }

  std::vector<double> fetch() {
    std::vector<double> out(scenarios_);
    must(cudaMemcpyAsync(out.data(), pnl_, out.size() * sizeof(double), cudaMemcpyDeviceToHost, main_), "fetch");
    must(cudaStreamSynchronize(main_), "fetch");
    return out;
  }

 private:
  int blocks() const { return (scenarios_ + 127) / 128; }

  void spot_greeks(cudaStream_t s) {
    delta_term<<<blocks(), 128, 0, s>>>(book_, trades_, shocks_, scenarios_, pnl_);
    must(cudaEventRecord(ev_[1], s), "spot done");
  }

  void vol_greeks(cudaStream_t s) {
    vega_term<<<blocks(), 128, 0, s>>>(book_, trades_, shocks_, scenarios_, pnl_);
    must(cudaEventRecord(ev_[2], s), "vol done");
  }

  void fan_out() {
    must(cudaEventRecord(ev_[0], main_), "fan out");
    must(cudaStreamWaitEvent(spot_, ev_[0], 0), "fan out");
    must(cudaStreamWaitEvent(vol_, ev_[0], 0), "fan out");
  }

  void fan_in() {
    must(cudaStreamWaitEvent(main_, ev_[1], 0), "fan in");
    must(cudaStreamWaitEvent(main_, ev_[2], 0), "fan in");
  }

  int trades_, scenarios_;
  cudaStream_t main_{}, spot_{}, vol_{};
  std::array<cudaEvent_t, 3> ev_{};
  Trade* book_ = nullptr;
  Shock* shocks_ = nullptr;
  double* pnl_ = nullptr;
};

}  // namespace risk

int main() {
  std::vector<risk::Trade> book(5000, {0.5f, 0.01f, 0.2f, 1e6f});
  std::vector<risk::Shock> shocks(100000, {0.02f, -0.01f});
  risk::Attribution a(static_cast<int>(book.size()), static_cast<int>(shocks.size()));
  a.load(book, shocks);
  for (int day = 0; day < 10; ++day) a.evaluate();
  std::printf("worst-case bucket: %.2f\n", a.fetch().front());
}
