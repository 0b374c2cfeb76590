// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Blocks that a deleter gives back which knows its pool, and a list that is searched for the first that will do.
#include <cuda_runtime.h>

#include <list>
#include <memory>
#include <vector>

__global__ void pour(float* tank) { tank[threadIdx.x] = 1.0f; }
__global__ void drain(const float* tank, float* river) { river[threadIdx.x] += tank[threadIdx.x]; }

class Lanes {
 public:
  Lanes() {
    cudaStreamCreateWithFlags(&north_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&south_, cudaStreamNonBlocking);
  }

 protected:
  static void settle(cudaStream_t lane) {
#ifdef FIXED
    cudaStreamSynchronize(lane);
#else
    (void)lane;
#endif
  }
  cudaStream_t north_, south_;
};

class Leases {
 public:
  struct Return {
    Leases* to;
    void operator()(float* block) const { to->give(block); }
  };
  using Lease = std::unique_ptr<float, Return>;

  Lease take() {
    if (!free_.empty()) {
      float* block = free_.back();
      free_.pop_back();
      return Lease(block, Return{this});
    }
    float* block = nullptr;
    cudaMalloc(&block, 4096);
    return Lease(block, Return{this});
  }
  void give(float* block) { free_.push_back(block); }

 private:
  std::vector<float*> free_;
};

class Rooms : Lanes {
 public:
  void run(float* east, float* west) {
    room(east, north_);
    room(west, south_);
  }
  // Each has its own.
  void at_once(float* east, float* west) {
    auto one = leases_.take(), other = leases_.take();
    pour<<<1, 64, 0, north_>>>(one.get());
    drain<<<1, 64, 0, north_>>>(one.get(), east);
    pour<<<1, 64, 0, south_>>>(other.get());
    drain<<<1, 64, 0, south_>>>(other.get(), west);
    cudaStreamSynchronize(north_);
    cudaStreamSynchronize(south_);
  }

 private:
  void room(float* river, cudaStream_t lane) {
    auto tank = leases_.take();
    pour<<<1, 64, 0, lane>>>(tank.get());
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->south_' may write a block of 'this->leases_.free_' while kernel 'drain' on stream 'this->north_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-18]]:5: note: in the call to 'Rooms::room' here
// CHECK-NOTES: :[[@LINE+9]]:5: note: a block of 'this->leases_.free_' is read here, on stream 'this->north_'
// CHECK-NOTES: :[[@LINE-21]]:5: note: in the call to 'Rooms::room' here
// CHECK-NOTES: :[[@LINE-64]]:5: note: stream 'this->north_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-64]]:5: note: stream 'this->south_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-41]]:22: note: a block of 'this->leases_.free_' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'this->south_' after stream 'this->north_': record an event in stream 'this->north_' after the read and let stream 'this->south_' wait for it with cudaStreamWaitEvent before kernel 'pour'
// CHECK-NOTES: :[[@LINE-35]]:29: note: the block goes back to its pool here, which hands it out again without waiting
// CHECK-NOTES: :[[@LINE-50]]:43: note: in the call to 'Leases::give' here
// CHECK-NOTES: :[[@LINE+3]]:3: note: in the call to 'Leases::Return::operator()' here
    drain<<<1, 64, 0, lane>>>(tank.get(), river);
    settle(lane);
  }
  Leases leases_;
};

struct Slot {
  float* block = nullptr;
  bool clean = true;
};

class Slots {
 public:
  Slot take() {
    for (auto slot = free_.begin(); slot != free_.end(); ++slot)
      if (slot->clean) {
        Slot found = *slot;
        free_.erase(slot);
        return found;
      }
    Slot made;
    cudaMalloc(&made.block, 4096);
    return made;
  }
  void give(Slot slot) { free_.push_back(slot); }

 private:
  std::list<Slot> free_;
};

class Garage : Lanes {
 public:
  void run(float* east, float* west) {
    park(east, north_);
    park(west, south_);
  }

 private:
  void park(float* river, cudaStream_t lane) {
    Slot slot = slots_.take();
    pour<<<1, 64, 0, lane>>>(slot.block);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'pour' on stream 'this->south_' may write a block of 'this->slots_.free_' while kernel 'drain' on stream 'this->north_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'Garage::park' here
// CHECK-NOTES: :[[@LINE+8]]:5: note: a block of 'this->slots_.free_' is read here, on stream 'this->north_'
// CHECK-NOTES: :[[@LINE-11]]:5: note: in the call to 'Garage::park' here
// CHECK-NOTES: :[[@LINE-116]]:5: note: stream 'this->north_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-116]]:5: note: stream 'this->south_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-26]]:5: note: a block of 'this->slots_.free_' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: nothing orders stream 'this->south_' after stream 'this->north_': record an event in stream 'this->north_' after the read and let stream 'this->south_' wait for it with cudaStreamWaitEvent before kernel 'pour'
// CHECK-NOTES: :[[@LINE-25]]:26: note: the block goes back to its pool here, which hands it out again without waiting
// CHECK-NOTES: :[[@LINE+3]]:5: note: in the call to 'Slots::give' here
    drain<<<1, 64, 0, lane>>>(slot.block, river);
    settle(lane);
    slots_.give(slot);
  }
  Slots slots_;
};
