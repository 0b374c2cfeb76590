#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>
#include <vector>

// Rainfall nowcasting ensemble. One bookkeeping stream owns all stream-ordered memory; members run on
// their own streams and borrow blocks.

#define NC_CHECK(x)                                               \
  do {                                                            \
    if (cudaError_t nc_ = (x); nc_ != cudaSuccess) {              \
      std::cerr << cudaGetErrorString(nc_) << " in " #x "\n";     \
      std::abort();                                               \
    }                                                             \
  } while (0)

namespace nowcast {

class Ledger {
 public:
  Ledger() {
    NC_CHECK(cudaStreamCreateWithFlags(&books_, cudaStreamNonBlocking));
    NC_CHECK(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming));
  }
  ~Ledger() {
    NC_CHECK(cudaStreamSynchronize(books_));
    NC_CHECK(cudaEventDestroy(mark_));
    NC_CHECK(cudaStreamDestroy(books_));
  }

  float* borrow(size_t n, cudaStream_t user) {
    float* p = nullptr;
    NC_CHECK(cudaMallocAsync(&p, n * sizeof(float), books_));
    hop(books_, user);
    return p;
  }

  void give_back(float* p, cudaStream_t last_user) {
    hop(last_user, books_);
    NC_CHECK(cudaFreeAsync(p, books_));
  }

  void pass(cudaStream_t from, cudaStream_t to) { hop(from, to); }

 private:
  void hop(cudaStream_t from, cudaStream_t to) {
    NC_CHECK(cudaEventRecord(mark_, from));
    NC_CHECK(cudaStreamWaitEvent(to, mark_, 0));
  }
  cudaStream_t books_{};
  cudaEvent_t mark_{};
};

__global__ void advect(const float* rain, float* out, int side, float u, float v) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= side) return;
  int sx = min(max(int(x - u), 0), side - 1), sy = min(max(int(y - v), 0), side - 1);
  out[y * side + x] = rain[sy * side + sx];
}
__global__ void grow(float* rain, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rain[i] *= rate;
}
__global__ void add(float* mean, const float* rain, int n, float w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mean[i] += w * rain[i];
}

class Ensemble {
 public:
  Ensemble(Ledger& ledger, int members, int side) : ledger_(ledger), side_(side), streams_(members) {
    for (auto& s : streams_) NC_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    NC_CHECK(cudaStreamCreateWithFlags(&merge_, cudaStreamNonBlocking));
    NC_CHECK(cudaMalloc(&mean_, cells() * sizeof(float)));
  }
  ~Ensemble() {
    for (auto& s : streams_) {
      NC_CHECK(cudaStreamSynchronize(s));
      NC_CHECK(cudaStreamDestroy(s));
    }
    NC_CHECK(cudaStreamSynchronize(merge_));
    NC_CHECK(cudaStreamDestroy(merge_));
    NC_CHECK(cudaFree(mean_));
  }

  // `radar` must be complete when this is called.
  void forecast(const float* radar) {
    NC_CHECK(cudaMemsetAsync(mean_, 0, cells() * sizeof(float), merge_));
    for (size_t m = 0; m < streams_.size(); ++m) {
      float* moved = member(radar, m);
      ledger_.pass(streams_[m], merge_);
      add<<<blocks(), 256, 0, merge_>>>(mean_, moved, int(cells()), 1.f / float(streams_.size()));
      ledger_.give_back(moved, merge_);
    }
  }

  float at(size_t cell) {
    float v = 0.f;
    NC_CHECK(cudaMemcpyAsync(&v, mean_ + cell, sizeof v, cudaMemcpyDeviceToHost, merge_));
    NC_CHECK(cudaStreamSynchronize(merge_));
    return v;
  }

 private:
  float* member(const float* radar, size_t m) {
    cudaStream_t s = streams_[m];
    float* moved = ledger_.borrow(cells(), s);
    dim3 grid((side_ + 127) / 128, side_);
    advect<<<grid, 128, 0, s>>>(radar, moved, side_, 0.5f * float(m), 1.f);
    grow<<<blocks(), 256, 0, s>>>(moved, int(cells()), 1.f + 0.01f * float(m));
    return moved;
  }
  size_t cells() const { return size_t(side_) * side_; }
  unsigned blocks() const { return unsigned((cells() + 255) / 256); }

  Ledger& ledger_;
  int side_;
  std::vector<cudaStream_t> streams_;
  cudaStream_t merge_{};
  float* mean_ = nullptr;
};

}  // namespace nowcast

int main() {
  const int side = 2048;
  float* radar = nullptr;
  NC_CHECK(cudaMalloc(&radar, sizeof(float) * side * side));
  NC_CHECK(cudaMemset(radar, 0x3f, sizeof(float) * side * side));
  NC_CHECK(cudaDeviceSynchronize());
  {
    nowcast::Ledger ledger;
    nowcast::Ensemble ens(ledger, 12, side);
    for (int lead = 0; lead < 24; ++lead) {
      ens.forecast(radar);
      std::cout << lead << ' ' << ens.at(size_t(side) * 7) << '\n';
    }
  }
  NC_CHECK(cudaFree(radar));
}
