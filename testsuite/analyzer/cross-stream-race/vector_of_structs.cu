// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Lanes are put into a vector, which copies them: two may hold one handle, but no lane's stream is the main one.
#include <cuda_runtime.h>

#include <vector>

struct Lane {
  cudaStream_t stream;
  cudaEvent_t done;
  float* partial;
};

__global__ void part(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void merge(const float* in, float* out) { out[threadIdx.x] += in[threadIdx.x]; }

class Fan {
 public:
  Fan(int count, int n) {
    for (int i = 0; i < count; ++i) {
      Lane lane;
      cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming);
      cudaMalloc(&lane.partial, n * sizeof(float));
      lanes_.push_back(lane);
    }
    cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking);
  }
  void run(const float* in, float* out) {
    for (Lane& lane : lanes_) {
      part<<<1, 256, 0, lane.stream>>>(in, lane.partial);
      cudaEventRecord(lane.done, lane.stream);
    }
    for (Lane& lane : lanes_) {
#ifdef FIXED
      cudaStreamWaitEvent(main_, lane.done, 0);
#endif
      merge<<<1, 256, 0, main_>>>(lane.partial, out);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: kernel 'merge' on stream 'this->main_' may read 'this->lanes_[each].partial' while kernel 'part' on stream 'this->lanes_[each].stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:7: note: 'this->lanes_[each].partial' is written here, on stream 'this->lanes_[each].stream'
// CHECK-NOTES: :[[@LINE-19]]:7: note: stream 'this->lanes_[each].stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->main_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:7: note: 'this->lanes_[each].partial' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:7: note: nothing orders stream 'this->main_' after stream 'this->lanes_[each].stream': record an event in stream 'this->lanes_[each].stream' after the write and let stream 'this->main_' wait for it with cudaStreamWaitEvent before kernel 'merge'
// CHECK-NOTES: :[[@LINE-14]]:7: note: analysed for the case that 'this->lanes_.size()' is 2
    }
#ifdef FIXED
    cudaStreamSynchronize(main_);
#endif
  }

 private:
  std::vector<Lane> lanes_;
  cudaStream_t main_;
};
