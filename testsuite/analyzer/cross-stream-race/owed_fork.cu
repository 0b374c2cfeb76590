// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DELSEWHERE
// RUN: %check cross-stream-race %s -- -DFIXED -DEVENT
// RUN: %check cross-stream-race %s -- -DFIXED -DSYNCED
// RUN: %check cross-stream-race %s -- -DFIXED -DNO_JOIN
// RUN: %check cross-stream-race %s -- -DFIXED -DGIVEN_OUT
// RUN: %check cross-stream-race %s -- -DFIXED -DOWN
//
// What a function is given is ready on the stream it is given. It hands its result back to that stream, and reads the
// input on a stream that has waited for nothing. Silent where the order may come from elsewhere: another method, an
// event of the caller, a wait of the host; where the stream is not the function's alone; where the memory is held by what
// holds the stream; and without the way back, which shows that the caller goes on on its stream.
#if defined(FIXED) && !defined(ELSEWHERE) && !defined(EVENT) && !defined(SYNCED) && !defined(NO_JOIN) && !defined(GIVEN_OUT) && !defined(OWN)
#define ALONE
#endif
#include <cuda_runtime.h>

__global__ void sieve(const float* flour, float* bowl) { bowl[threadIdx.x] = flour[threadIdx.x]; }

class Mill {
 public:
  Mill() {
    cudaStreamCreateWithFlags(&grind_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end_, cudaEventDisableTiming);
  }
  ~Mill() { cudaStreamSynchronize(grind_); }
#ifdef ELSEWHERE
  void open(cudaStream_t s) {
    cudaEventRecord(begin_, s);
    cudaStreamWaitEvent(grind_, begin_, 0);
  }
#endif
#ifdef GIVEN_OUT
  cudaStream_t stream() const { return grind_; }
#endif
#ifdef EVENT
  void run(const float* flour, float* bowl, cudaStream_t s, cudaEvent_t ready) {
    cudaStreamWaitEvent(grind_, ready, 0);
#else
  void run(const float* flour, float* bowl, cudaStream_t s) {
#endif
#ifdef ALONE
    cudaEventRecord(begin_, s);
    cudaStreamWaitEvent(grind_, begin_, 0);
#elif defined(SYNCED)
    cudaStreamSynchronize(s);
#elif defined(OWN)
    flour = bowl = store_;
#endif
    sieve<<<1, 32, 0, grind_>>>(flour, bowl);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'sieve' on stream 'this->grind_' may read 'flour' before it is written: what 'Mill::run' is given is ready on stream 's', which stream 'this->grind_' does not wait for [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-12]]:8: note: work that was enqueued on stream 's' before this function may still run
// CHECK-NOTES: :[[@LINE+5]]:5: note: stream 's' waits here for stream 'this->grind_': the way back is there
// CHECK-NOTES: :[[@LINE-4]]:5: note: record an event in stream 's' and let stream 'this->grind_' wait for it with cudaStreamWaitEvent before kernel 'sieve'
// CHECK-NOTES: :[[@LINE-33]]:5: note: stream 'this->grind_' is created by its class here, and stream 's' comes from outside
    cudaEventRecord(end_, grind_);
#ifndef NO_JOIN
    cudaStreamWaitEvent(s, end_, 0);
#endif
  }

 private:
  cudaStream_t grind_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
#ifdef OWN
  float* store_ = nullptr;
#endif
};

void bake(Mill& mill, const float* flour, float* bowl, cudaStream_t s) {
#ifdef EVENT
  mill.run(flour, bowl, s, nullptr);
#else
  mill.run(flour, bowl, s);
#endif
}
