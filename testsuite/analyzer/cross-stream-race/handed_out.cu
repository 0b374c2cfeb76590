// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A mill grinds one sack after another. Whoever is given an event, or an object in which one was recorded, can wait
// between two sacks; what a mill keeps to itself nobody waits for.
#include <cuda_runtime.h>

#include <memory>

__global__ void grind(float* sack) { sack[threadIdx.x] *= 2; }

class Bell {
 public:
  Bell() { cudaEventCreateWithFlags(&rung_, cudaEventDisableTiming); }
  ~Bell() { cudaEventDestroy(rung_); }
  void ring(cudaStream_t stream) { cudaEventRecord(rung_, stream); }
  void hear() { cudaEventSynchronize(rung_); }

 private:
  cudaEvent_t rung_;
};

struct Receipt {
  int number;
  cudaEvent_t ground;
};

struct Works {
  Works() {
    cudaStreamCreateWithFlags(&carts, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&stones, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&brought, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&ground, cudaEventDisableTiming);
    cudaMalloc(&sack, 4096);
  }
  ~Works() {
    cudaStreamSynchronize(carts);
    cudaStreamSynchronize(stones);
    cudaFree(sack);
    cudaEventDestroy(brought);
    cudaEventDestroy(ground);
    cudaStreamDestroy(carts);
    cudaStreamDestroy(stones);
  }
  Works(const Works&) = delete;
  void turn() {
    cudaEventRecord(brought, carts);
    cudaStreamWaitEvent(stones, brought, 0);
    grind<<<1, 256, 0, stones>>>(sack);
  }

  cudaStream_t carts, stones;
  cudaEvent_t brought, ground;
  float* sack;
};

class WithPointer {
 public:
  WithPointer() {}
#ifdef FIXED
  void work(const float* grain, cudaEvent_t* ground) {
    *ground = works_.ground;
#else
  void work(const float* grain) {
#endif
    cudaMemcpyAsync(works_.sack, grain, 4096, cudaMemcpyDeviceToDevice, works_.carts);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->works_.carts' may write 'this->works_.sack' while kernel 'grind' on stream 'this->works_.stones' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-19]]:5: note: 'this->works_.sack' is updated here, on stream 'this->works_.stones'
// CHECK-NOTES: :[[@LINE+8]]:5: note: in the call to 'Works::turn' here
// CHECK-NOTES: :[[@LINE+8]]:5: note: event 'this->works_.ground' is recorded here, after the update, but stream 'this->works_.carts' does not wait for it
// CHECK-NOTES: :[[@LINE-40]]:5: note: stream 'this->works_.stones' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: in the call to 'Works::Works' here
// CHECK-NOTES: :[[@LINE-43]]:5: note: stream 'this->works_.carts' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-40]]:5: note: 'this->works_.sack' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:5: note: let stream 'this->works_.carts' wait for event 'this->works_.ground' with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'WithPointer::work' is called twice: no method of the class waits in between, and no other code has the stream
    works_.turn();
    cudaEventRecord(works_.ground, works_.stones);
  }

 private:
  Works works_;
};

class WithReceipt {
 public:
  explicit WithReceipt(Receipt& kept) : kept_(kept) {}
#ifdef FIXED
  void work(const float* grain, Receipt& receipt) {
#else
  void work(const float* grain, const Receipt& receipt) {
#endif
    cudaMemcpyAsync(works_.sack, grain, 4096, cudaMemcpyDeviceToDevice, works_.carts);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->works_.carts' may write 'this->works_.sack' while kernel 'grind' on stream 'this->works_.stones' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-46]]:5: note: 'this->works_.sack' is updated here, on stream 'this->works_.stones'
// CHECK-NOTES: :[[@LINE+8]]:5: note: in the call to 'Works::turn' here
// CHECK-NOTES: :[[@LINE+9]]:5: note: event 'this->works_.ground' is recorded here, after the update, but stream 'this->works_.carts' does not wait for it
// CHECK-NOTES: :[[@LINE-67]]:5: note: stream 'this->works_.stones' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:12: note: in the call to 'Works::Works' here
// CHECK-NOTES: :[[@LINE-70]]:5: note: stream 'this->works_.carts' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-67]]:5: note: 'this->works_.sack' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:5: note: let stream 'this->works_.carts' wait for event 'this->works_.ground' with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'WithReceipt::work' is called twice: no method of the class waits in between, and no other code has the stream
    works_.turn();
    number_ = receipt.number;
    cudaEventRecord(works_.ground, works_.stones);
#ifdef FIXED
    receipt.ground = works_.ground;
#endif
  }
  void keep(int number) { kept_.number = number; }

 private:
  Works works_;
  Receipt& kept_;
  int number_ = 0;
};

class WithBell {
 public:
#ifdef FIXED
  explicit WithBell(Bell& bell) : bell_(bell) {}
#else
  WithBell() {}
#endif
  void work(const float* grain) {
    cudaMemcpyAsync(works_.sack, grain, 4096, cudaMemcpyDeviceToDevice, works_.carts);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->works_.carts' may write 'this->works_.sack' while kernel 'grind' on stream 'this->works_.stones' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-80]]:5: note: 'this->works_.sack' is updated here, on stream 'this->works_.stones'
// CHECK-NOTES: :[[@LINE+9]]:5: note: in the call to 'Works::turn' here
// CHECK-NOTES: :[[@LINE-115]]:36: note: event 'this->bell_.rung_' is recorded here, after the update, but stream 'this->works_.carts' does not wait for it
// CHECK-NOTES: :[[@LINE+8]]:5: note: in the call to 'Bell::ring' here
// CHECK-NOTES: :[[@LINE-102]]:5: note: stream 'this->works_.stones' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: in the call to 'Works::Works' here
// CHECK-NOTES: :[[@LINE-105]]:5: note: stream 'this->works_.carts' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-102]]:5: note: 'this->works_.sack' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:5: note: let stream 'this->works_.carts' wait for event 'this->bell_.rung_' with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'WithBell::work' is called twice: no method of the class waits in between, and no other code has the stream
    works_.turn();
    bell_.ring(works_.stones);
  }

 private:
  Works works_;
#ifdef FIXED
  Bell& bell_;
#else
  Bell bell_;
#endif
};

class WithKeptBell {
 public:
#ifdef FIXED
  explicit WithKeptBell(std::shared_ptr<Bell> bell) : bell_(std::move(bell)) {}
#else
  WithKeptBell() : bell_(std::make_shared<Bell>()) {}
#endif
  void work(const float* grain) {
    cudaMemcpyAsync(works_.sack, grain, 4096, cudaMemcpyDeviceToDevice, works_.carts);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (device to device) on stream 'this->works_.carts' may write 'this->works_.sack' while kernel 'grind' on stream 'this->works_.stones' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-113]]:5: note: 'this->works_.sack' is updated here, on stream 'this->works_.stones'
// CHECK-NOTES: :[[@LINE+9]]:5: note: in the call to 'Works::turn' here
// CHECK-NOTES: :[[@LINE-148]]:36: note: event 'this->bell_->rung_' is recorded here, after the update, but stream 'this->works_.carts' does not wait for it
// CHECK-NOTES: :[[@LINE+8]]:5: note: in the call to 'Bell::ring' here
// CHECK-NOTES: :[[@LINE-135]]:5: note: stream 'this->works_.stones' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: in the call to 'Works::Works' here
// CHECK-NOTES: :[[@LINE-138]]:5: note: stream 'this->works_.carts' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-135]]:5: note: 'this->works_.sack' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:5: note: let stream 'this->works_.carts' wait for event 'this->bell_->rung_' with cudaStreamWaitEvent before cudaMemcpyAsync (device to device)
// CHECK-NOTES: :[[@LINE-12]]:8: note: if 'WithKeptBell::work' is called twice: no method of the class waits in between, and no other code has the stream
    works_.turn();
    bell_->ring(works_.stones);
  }

 private:
  Works works_;
  std::shared_ptr<Bell> bell_;
};

#ifdef FIXED
class Town {
 public:
  static Town& of() {
    static Town town;
    return town;
  }
  void note(cudaStream_t stream) { cudaEventRecord(last_, stream); }
  void sleep() { cudaEventSynchronize(last_); }

 private:
  Town() { cudaEventCreateWithFlags(&last_, cudaEventDisableTiming); }
  cudaEvent_t last_;
};

class InTown {
 public:
  InTown() {}
  void work(const float* grain) {
    cudaMemcpyAsync(works_.sack, grain, 4096, cudaMemcpyDeviceToDevice, works_.carts);
    works_.turn();
    Town::of().note(works_.stones);
  }

 private:
  Works works_;
};
#endif
