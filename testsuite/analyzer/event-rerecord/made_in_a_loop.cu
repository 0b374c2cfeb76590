// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-rerecord %s
// RUN: %check event-rerecord %s -- -DFIXED
//
// Two events that are nullptr first, and made in a loop over their addresses: they are two.
#include <cuda_runtime.h>

#include <initializer_list>

__global__ void pack(float* out) { out[threadIdx.x] = 1.0f; }

class Lane {
 public:
  Lane() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  cudaStream_t get() const { return stream_; }
  void after(cudaEvent_t event) const { cudaStreamWaitEvent(stream_, event, 0); }
  void mark(cudaEvent_t event) const { cudaEventRecord(event, stream_); }  // FIRES: event-rerecord

 private:
  cudaStream_t stream_ = nullptr;
};

class Model {
 public:
  Model() {
    for (float** side : {&west_, &east_}) cudaMalloc(side, 4096);
    cudaEventCreateWithFlags(&both_, cudaEventDisableTiming);
#ifdef FIXED
    for (cudaEvent_t* event : {&west_packed_, &east_packed_}) cudaEventCreateWithFlags(event, cudaEventDisableTiming);
#endif
  }
  void step() {
#ifdef FIXED
    exchange(west_lane_, west_, west_packed_);
    exchange(east_lane_, east_, east_packed_);
    compute_.after(west_packed_);
    compute_.after(east_packed_);
#else
    exchange(west_lane_, west_, both_);
    exchange(east_lane_, east_, both_);
    compute_.after(both_);
#endif
    pack<<<1, 32, 0, compute_.get()>>>(west_);
    pack<<<1, 32, 0, compute_.get()>>>(east_);
    cudaStreamSynchronize(compute_.get());
  }

 private:
  void exchange(const Lane& lane, float* side, cudaEvent_t packed) {
    pack<<<1, 32, 0, lane.get()>>>(side);
    lane.mark(packed);
  }
  Lane compute_, west_lane_, east_lane_;
  cudaEvent_t both_ = nullptr, west_packed_ = nullptr, east_packed_ = nullptr;
  float *west_ = nullptr, *east_ = nullptr;
};

int main() {
  Model model;
  for (int i = 0; i < 1000; ++i) model.step();
  cudaDeviceSynchronize();
}
