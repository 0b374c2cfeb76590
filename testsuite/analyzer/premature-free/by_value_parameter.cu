// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// An object made for a parameter is that parameter: what the callee makes of it is what its destructor finds.
#include <cuda_runtime.h>
#include <utility>

class Crate {
 public:
  explicit Crate(cudaStream_t s) : keeper_(s) { cudaMallocAsync(reinterpret_cast<void**>(&goods_), 1 << 20, s); }
  Crate(Crate&& other) noexcept : goods_(std::exchange(other.goods_, nullptr)), keeper_(other.keeper_) {}
  ~Crate() {
    if (goods_ != nullptr) cudaFreeAsync(goods_, keeper_);  // FIRES: premature-free
  }
  void hand_to(cudaStream_t s) {
    cudaEvent_t handed;
    cudaEventCreateWithFlags(&handed, cudaEventDisableTiming);
    cudaEventRecord(handed, keeper_);
    cudaStreamWaitEvent(s, handed, 0);
    cudaEventDestroy(handed);
#ifdef FIXED
    keeper_ = s;
#endif
  }
  float* goods() { return goods_; }

 private:
  float* goods_ = nullptr;
  cudaStream_t keeper_;
};

__global__ void weigh(const float* goods, float* sum) { atomicAdd(sum, goods[threadIdx.x]); }

void receive(Crate crate, float* sum, cudaStream_t dock) {
  crate.hand_to(dock);
  weigh<<<1, 256, 0, dock>>>(crate.goods(), sum);
}

void day(float* sum) {
  cudaStream_t road, dock;
  cudaStreamCreateWithFlags(&road, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&dock, cudaStreamNonBlocking);
  receive(Crate(road), sum, dock);
  cudaStreamSynchronize(dock);
  cudaStreamDestroy(dock);
  cudaStreamDestroy(road);
}
