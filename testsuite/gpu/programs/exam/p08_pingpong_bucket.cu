// Double-buffered gradient buckets with overlapped reduction.  Modelled on deepspeedai/DeepSpeed#7805.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CK(x)                                                                                       \
  do {                                                                                              \
    if (auto e_ = (x); e_ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)), std::exit(1); \
    }                                                                                               \
  } while (0)

constexpr int kElems = 1 << 15;

__global__ void fill_grads(float* bucket, int n, int micro_step, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = float(micro_step + 1);
  for (int k = 0; k < depth; ++k) g = fmaf(g, 0.9999f, 1e-4f);
  bucket[i] = g;
}
__global__ void reduce_scatter(const float* bucket, float* shard, int n, int ring_steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0;
  for (int k = 0; k < 64; ++k) {  // a slow ring: the bucket is read step by step
    acc += bucket[(i + k * 511) % n];
    for (int j = 0; j < ring_steps; ++j) acc = fmaf(acc, 0.99999f, 1e-6f);
  }
  shard[i] += acc;
}

class IPGBucket {
 public:
  IPGBucket() {
    for (auto& b : buffer_) CK(cudaMalloc(&b, kElems * sizeof(float)));
    for (auto& e : reduced_) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~IPGBucket() {
    for (auto b : buffer_) cudaFree(b);
    for (auto e : reduced_) cudaEventDestroy(e);
  }
  float* current() const { return buffer_[index_]; }
  // Called when the current half has been handed to the reduction: go on with the other half.
  void swap_halves(cudaStream_t compute, cudaStream_t reduction) {
    CK(cudaEventRecord(reduced_[index_], reduction));
    index_ = 1 - index_;
    CK(cudaStreamWaitEvent(compute, reduced_[index_], 0));  // this half may still be in flight
  }
  void clear() {
    elements_ = 0;
#ifndef FIXED
    index_ = 0;
#endif
  }
  void account(int n) { elements_ += n; }

 private:
  std::array<float*, 2> buffer_{};
  std::array<cudaEvent_t, 2> reduced_{};
  int index_ = 0, elements_ = 0;
};

class ZeroOptimizer {
 public:
  ZeroOptimizer() {
    CK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&reduction_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    CK(cudaMalloc(&shard_, kElems * sizeof(float)));
    CK(cudaMemsetAsync(shard_, 0, kElems * sizeof(float), reduction_));
  }
  ~ZeroOptimizer() {
    cudaStreamSynchronize(compute_), cudaStreamSynchronize(reduction_);
    cudaFree(shard_), cudaEventDestroy(filled_);
    cudaStreamDestroy(compute_), cudaStreamDestroy(reduction_);
  }
  void backward(int micro_step) {
    fill_grads<<<kElems / 256, 256, 0, compute_>>>(bucket_.current(), kElems, micro_step, 20000);
    bucket_.account(kElems);
    reduce_ipg_grads();
  }
  float norm() {
    float h[2];
    CK(cudaStreamSynchronize(compute_));
    CK(cudaStreamSynchronize(reduction_));
    CK(cudaMemcpy(h, shard_, sizeof h, cudaMemcpyDeviceToHost));
    return h[0] + h[1];
  }

 private:
  void reduce_ipg_grads() {
    CK(cudaEventRecord(filled_, compute_));
    CK(cudaStreamWaitEvent(reduction_, filled_, 0));
    reduce_scatter<<<kElems / 256, 256, 0, reduction_>>>(bucket_.current(), shard_, kElems, 4000);
    CK(cudaGetLastError());
    bucket_.swap_halves(compute_, reduction_);
    bucket_.clear();
  }
  cudaStream_t compute_{}, reduction_{};
  cudaEvent_t filled_{};
  float* shard_{};
  IPGBucket bucket_;
};

int main() {
  {
    ZeroOptimizer opt;
    for (int step = 0; step < 3; ++step) {
      for (int micro = 0; micro < 4; ++micro) opt.backward(micro);
      std::printf("step %d: %f\n", step, opt.norm());
    }
  }
  CK(cudaDeviceSynchronize());
  return 0;
}
