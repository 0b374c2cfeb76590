// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A class waits for its side stream in collect(), so load() after add() alone overwrites what add() reads. Nobody knows
// whether that happens, and it is reported. A main() that makes these calls shows how they are made.
#include <cuda_runtime.h>

__global__ void sum(const float* in, float* out) { out[threadIdx.x] += in[threadIdx.x]; }

class Sums {
 public:
  Sums() {
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&added_, cudaEventDisableTiming);
    cudaMalloc(&in_, kBytes);
    cudaMalloc(&out_, kBytes);
    cudaMallocHost(&staging_, kBytes);
    cudaMemsetAsync(out_, 0, kBytes, side_);
  }
  void load() {
    cudaMemcpyAsync(in_, staging_, kBytes, cudaMemcpyHostToDevice, main_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (host to device) on stream 'this->main_' may write 'this->in_' while kernel 'sum' on stream 'this->side_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+11]]:5: note: 'this->in_' is read here, on stream 'this->side_'
// CHECK-NOTES: :[[@LINE+11]]:5: note: event 'this->added_' is recorded here, after the read, but stream 'this->main_' does not wait for it
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'this->side_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->main_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:5: note: 'this->in_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: let stream 'this->main_' wait for event 'this->added_' with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
// CHECK-NOTES: :[[@LINE-9]]:8: note: if 'Sums::add' is followed by 'Sums::load': the class makes the one stream wait for the other elsewhere, but not for this work
    cudaEventRecord(loaded_, main_);
  }
  void add() {
    cudaStreamWaitEvent(side_, loaded_, 0);
    sum<<<1, 256, 0, side_>>>(in_, out_);
    cudaEventRecord(added_, side_);
  }
  void collect(float* result) {
    cudaStreamWaitEvent(main_, added_, 0);
    cudaMemcpyAsync(result, out_, kBytes, cudaMemcpyDeviceToHost, side_);
  }

 private:
  static constexpr size_t kBytes = 256 * sizeof(float);
  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaEvent_t loaded_ = nullptr, added_ = nullptr;
  float *in_ = nullptr, *out_ = nullptr, *staging_ = nullptr;
};

#ifdef FIXED
int main() {
  Sums sums;
  float* result = nullptr;
  cudaMallocHost(&result, 256 * sizeof(float));
  for (int i = 0; i < 4; ++i) {
    sums.load();
    sums.add();
    sums.collect(result);
  }
  cudaDeviceSynchronize();
}
#endif
