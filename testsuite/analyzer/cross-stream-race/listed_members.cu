// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Streams and events of an object that are made in a loop over a list of their addresses, and forked in one over a list
// of themselves.
#include <cuda_runtime.h>
#include <initializer_list>

__global__ void tile(float* part, int n) { if (threadIdx.x < n) part[threadIdx.x] = 1.0f; }
__global__ void gather(const float* part, float* out, int n) { if (threadIdx.x < n) out[threadIdx.x] = part[threadIdx.x]; }

class Mosaic {
 public:
  explicit Mosaic(int n) : n_(n) {
    for (cudaStream_t* s : {&left_, &right_}) cudaStreamCreateWithFlags(s, cudaStreamNonBlocking);
    for (cudaEvent_t* e : {&begin_, &left_done_, &right_done_}) cudaEventCreateWithFlags(e, cudaEventDisableTiming);
    cudaMalloc(reinterpret_cast<void**>(&west_), n * sizeof(float));
    cudaMalloc(reinterpret_cast<void**>(&east_), n * sizeof(float));
  }
  ~Mosaic() {
    for (cudaStream_t s : {left_, right_}) cudaStreamSynchronize(s);
    cudaFree(east_);
    cudaFree(west_);
    for (cudaEvent_t e : {begin_, left_done_, right_done_}) cudaEventDestroy(e);
    for (cudaStream_t s : {left_, right_}) cudaStreamDestroy(s);
  }
  void lay(float* out, cudaStream_t main) {
    cudaEventRecord(begin_, main);
    for (cudaStream_t s : {left_, right_}) cudaStreamWaitEvent(s, begin_, 0);
    tile<<<1, 256, 0, left_>>>(west_, n_);
    tile<<<1, 256, 0, right_>>>(east_, n_);
    cudaEventRecord(left_done_, left_);
    cudaEventRecord(right_done_, right_);
    cudaStreamWaitEvent(main, left_done_, 0);
#ifdef FIXED
    cudaStreamWaitEvent(main, right_done_, 0);
#endif
    gather<<<1, 256, 0, main>>>(west_, out, n_);
    gather<<<1, 256, 0, main>>>(east_, out + n_, n_);  // FIRES: cross-stream-race
  }

 private:
  int n_;
  cudaStream_t left_{}, right_{};
  cudaEvent_t begin_{}, left_done_{}, right_done_{};
  float* west_ = nullptr;
  float* east_ = nullptr;
};
