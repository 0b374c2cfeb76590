// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two loops over the lanes, one that forks and one that joins: what is supposed of their rounds counts for nothing where
// main() runs them.
#include <cuda_runtime.h>

#include <array>

__global__ void fill(float* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = 1.0f;
}
__global__ void sum_up(const float* in, int count, float* out) {
  for (int i = 0; i < count; ++i) out[0] += in[i];
}

class Lanes {
 public:
  Lanes() {
    for (auto& lane : lanes_) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking);
  }
  cudaStream_t operator[](int i) const { return lanes_[i % 4]; }

 private:
  std::array<cudaStream_t, 4> lanes_{};
};

class Valuation {
 public:
  explicit Valuation(int curves) : curves_(curves) {
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    cudaMalloc(&discount_, sizeof(float) * curves * 40);
    cudaMalloc(&value_, sizeof(float));
  }
  void scenario() {
    for (int c = 0; c < curves_; ++c) {
      cudaEventRecord(event_, main_);
      cudaStreamWaitEvent(lanes_[c], event_, 0);
      fill<<<1, 32, 0, lanes_[c]>>>(discount_ + c * 40, 40);
    }
#ifdef FIXED
    for (int c = 0; c < curves_; ++c) {
#else
    for (int c = 1; c < 4; ++c) {
#endif
      cudaEventRecord(event_, lanes_[c]);
      cudaStreamWaitEvent(main_, event_, 0);
    }
    sum_up<<<1, 1, 0, main_>>>(discount_, curves_ * 40, value_);  // FIRES: cross-stream-race
  }

 private:
  int curves_;
  Lanes lanes_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t event_ = nullptr;
  float *discount_ = nullptr, *value_ = nullptr;
};

int main() {
  Valuation book(9);
  for (int i = 0; i < 11; ++i) book.scenario();
  cudaDeviceSynchronize();
}
