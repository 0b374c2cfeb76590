// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Some methods of a class are given what nobody can make: the others are called for all that. Nor does a method that is
// given others of its class make any.
#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <vector>

__global__ void ferment(const float* malt, float* vat, int n) {
  if (threadIdx.x < n) vat[threadIdx.x] = malt[threadIdx.x] + 1.0f;
}

class Licence {
 public:
  static Licence* issue() { return new Licence; }
  void give_back() { delete this; }
  int years = 1;

 private:
  ~Licence() {}
};
class Seal {
  Seal() = default;
  friend class Office;

 public:
  int number = 0;
};
struct Papers {
  Seal seal;
  int pages;
};

// This can be made.
struct Recipe {
  std::unique_ptr<int> hops;
};

class Brewery {
 public:
  explicit Brewery(int room) : room_(room) {
    cudaStreamCreateWithFlags(&brew_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&drain_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&brewed_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&drained_, cudaEventDisableTiming);
    cudaMalloc(&vat_, room * sizeof(float));
  }
  ~Brewery() {
    cudaStreamSynchronize(brew_);
    cudaStreamSynchronize(drain_);
    cudaFree(vat_);
    cudaEventDestroy(brewed_);
    cudaEventDestroy(drained_);
    cudaStreamDestroy(brew_);
    cudaStreamDestroy(drain_);
  }
  Brewery(const Brewery&) = delete;

  void license(Licence* licence) { years_ = licence->years; }
  void file(const Papers& papers) { years_ = papers.pages; }
  void merge(const std::vector<std::unique_ptr<Brewery>>& others) {
    for (const auto& other : others) years_ += other->years_;
  }
  void brew(const Recipe&, const float* malt, int count, float* pinned) {
    for (int first = 0; first < count; first += room_) {
      const int n = std::min(room_, count - first);
      fill(malt + first, n);
      drain(pinned + first, n);
    }
    cudaEventSynchronize(drained_);
  }

 private:
  void fill(const float* malt, int n) {
#ifdef FIXED
    cudaStreamWaitEvent(brew_, drained_, 0);
#endif
    ferment<<<1, 256, 0, brew_>>>(malt, vat_, n);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'ferment' on stream 'brew_' may write 'vat_' while cudaMemcpyAsync on stream 'drain_' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-13]]:7: note: in the call to 'fill' here
// CHECK-NOTES: :[[@LINE+13]]:5: note: 'vat_' is read here, on stream 'drain_'
// CHECK-NOTES: :[[@LINE-14]]:7: note: in the call to 'drain' here
// CHECK-NOTES: :[[@LINE+12]]:5: note: event 'drained_' is recorded here, after the read, but stream 'brew_' does not wait for it
// CHECK-NOTES: :[[@LINE-41]]:5: note: stream 'drain_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-44]]:44: note: in the call to 'Brewery' here
// CHECK-NOTES: :[[@LINE-44]]:5: note: stream 'brew_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-41]]:5: note: 'vat_' is allocated here
// CHECK-NOTES: :[[@LINE-10]]:5: note: let stream 'brew_' wait for event 'drained_' with cudaStreamWaitEvent before kernel 'ferment'
// CHECK-NOTES: :[[@LINE-11]]:5: note: an object of 'Brewery' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    cudaEventRecord(brewed_, brew_);
  }
  void drain(float* pinned, int n) {
    cudaStreamWaitEvent(drain_, brewed_, 0);
    cudaMemcpyAsync(pinned, vat_, n * sizeof(float), cudaMemcpyDeviceToHost, drain_);
    cudaEventRecord(drained_, drain_);
  }

  int room_, years_ = 0;
  cudaStream_t brew_ = nullptr, drain_ = nullptr;
  cudaEvent_t brewed_ = nullptr, drained_ = nullptr;
  float* vat_ = nullptr;
};
