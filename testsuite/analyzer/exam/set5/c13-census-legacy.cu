#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>

#include <cuda_runtime.h>

#include <array>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

// Regional census projection. Regions advance side by side, the national totals are
// taken on the default stream between two years.

namespace census {

constexpr int kRegions = 6;
constexpr int kCohorts = 1 << 15;

void check(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

struct Rates {
  float birth, death, move;
};

__global__ void age(const float* from, float* to, const Rates* rates, int region, const float* national) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCohorts) return;
  Rates r = rates[region];
  float older = i ? from[i - 1] * (1.f - r.death) : from[kCohorts - 1] * r.birth;
  to[i] = older + r.move * 1e-9f * national[0];
}

class Country {
 public:
  Country() : now_(size_t(kRegions) * kCohorts, 1000.f), next_(now_.size(), 0.f), rates_(kRegions) {
    for (auto& s : region_) check(cudaStreamCreate(&s), "stream");
    check(cudaMalloc(&national_, sizeof(float)), "national");
    check(cudaMemset(national_, 0, sizeof(float)), "national");
  }
  ~Country() {
    for (auto& s : region_) cudaStreamDestroy(s);
    cudaFree(national_);
  }

  void legislate(const std::vector<Rates>& r) {
    check(cudaMemcpy(thrust::raw_pointer_cast(rates_.data()), r.data(), r.size() * sizeof(Rates), cudaMemcpyHostToDevice),
          "rates");
  }

  void year() {
    const float* from = thrust::raw_pointer_cast(now_.data());
    float* to = thrust::raw_pointer_cast(next_.data());
    for (int r = 0; r < kRegions; ++r) {
      age<<<kCohorts / 256, 256, 0, region_[r]>>>(from + size_t(r) * kCohorts, to + size_t(r) * kCohorts,
                                                  thrust::raw_pointer_cast(rates_.data()), r, national_);
    }
    check(cudaGetLastError(), "age");
    now_.swap(next_);
  }

  float total() {
    float sum = thrust::reduce(now_.begin(), now_.end(), 0.f);
    check(cudaMemcpy(national_, &sum, sizeof sum, cudaMemcpyHostToDevice), "national");
    return sum;
  }

  void reset(int region, float value) {
    thrust::fill(now_.begin() + size_t(region) * kCohorts, now_.begin() + size_t(region + 1) * kCohorts, value);
  }

 private:
  thrust::device_vector<float> now_, next_;
  thrust::device_vector<Rates> rates_;
  float* national_ = nullptr;
  std::array<cudaStream_t, kRegions> region_{};
};

}  // namespace census

int main() {
  census::Country c;
  c.legislate(std::vector<census::Rates>(census::kRegions, {0.02f, 0.01f, 0.5f}));
  for (int y = 0; y < 30; ++y) {
    c.year();
    if (y == 10) c.reset(2, 500.f);
    if (y == 20) c.legislate(std::vector<census::Rates>(census::kRegions, {0.03f, 0.008f, 0.4f}));
    std::cout << 2000 + y << ' ' << c.total() << '\n';
  }
}
