// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Objects of two classes are made, and one of them works on the device: that the object at hand is one of those is
// likely, not certain.

#include <cuda_runtime.h>

#include <memory>

__global__ void knead(float* dough) { dough[threadIdx.x] = 1.0f; }
__global__ void bake(const float* dough, float* bread) { bread[threadIdx.x] += dough[threadIdx.x]; }

struct Machine {
  virtual ~Machine() = default;
  virtual void knead_in(float* dough, cudaStream_t lane) = 0;
};
struct Mixer : Machine {
  void knead_in(float* dough, cudaStream_t lane) override { knead<<<1, 64, 0, lane>>>(dough); }
};
struct Idle : Machine {
  void knead_in(float*, cudaStream_t) override {}
};

std::unique_ptr<Machine> machine(bool works) {
  if (works) return std::make_unique<Mixer>();
  return std::make_unique<Idle>();
}

class Bakery {
 public:
  Bakery() {
    cudaStreamCreateWithFlags(&table_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&oven_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&kneaded_, cudaEventDisableTiming);
  }

  void loaf(Machine& machine, float* dough, float* bread) {
    machine.knead_in(dough, table_);
#ifdef FIXED
    cudaEventRecord(kneaded_, table_);
    cudaStreamWaitEvent(oven_, kneaded_, 0);
#endif
    bake<<<1, 64, 0, oven_>>>(dough, bread);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'bake' on stream 'this->oven_' may read 'dough' while kernel 'knead' on stream 'this->table_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-27]]:61: note: 'dough' is written here, on stream 'this->table_'
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Mixer::knead_in' here
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->table_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-15]]:5: note: stream 'this->oven_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'this->oven_' after stream 'this->table_': record an event in stream 'this->table_' after the write and let stream 'this->oven_' wait for it with cudaStreamWaitEvent before kernel 'bake'
// CHECK-NOTES: :[[@LINE-12]]:5: note: the object may be of another class; of those in sight, only the one with 'Mixer::knead_in' works on the device
    cudaStreamSynchronize(oven_);
  }

 private:
  cudaStream_t table_, oven_;
  cudaEvent_t kneaded_;
};
