// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DELSEWHERE
// RUN: %check cross-stream-race %s -- -DFIXED -DLEFT
// RUN: %check cross-stream-race %s -- -DFIXED -DSYNCED
// RUN: %check cross-stream-race %s -- -DFIXED -DUNKNOWN
// RUN: %check cross-stream-race %s -- -DFIXED -DTOLD
//
// A function lets a stream of its own begin behind the stream it is given, and returns without the way back: what its
// caller enqueues then meets work that still writes. A wait in the destructor comes too late for that. Silent where
// something is left that the caller can wait for.
#if defined(FIXED) && !defined(ELSEWHERE) && !defined(LEFT) && !defined(SYNCED) && !defined(UNKNOWN) && !defined(TOLD)
#define ALONE
#endif
#include <cuda_runtime.h>

#include <vector>

struct Move {
  const float* from;
  float* to;
};

#ifdef UNKNOWN
void watch(cudaStream_t stream);
#endif
#ifdef TOLD
void tell(void* who);
#endif

class Porter {
 public:
  Porter() {
    cudaStreamCreateWithFlags(&lift_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&end_, cudaEventDisableTiming);
  }
  ~Porter() { cudaStreamSynchronize(lift_); }
#ifdef ELSEWHERE
  void finish(cudaStream_t s) {
    cudaEventRecord(end_, lift_);
    cudaStreamWaitEvent(s, end_, 0);
  }
#endif
#ifdef LEFT
  void finish(cudaStream_t s) { cudaStreamWaitEvent(s, end_, 0); }
#endif
  bool carry(const std::vector<Move>& moves, size_t bytes, cudaStream_t s) {
    if (moves.empty()) return false;
    cudaEventRecord(begin_, s);
    cudaStreamWaitEvent(lift_, begin_, 0);
    for (const Move& m : moves) {
      cudaMemcpyAsync(m.to, m.from, bytes, cudaMemcpyDeviceToDevice, lift_);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: cudaMemcpyAsync (device to device) on stream 'this->lift_' may still write 'moves[each].to' when 'Porter::carry' has returned: nothing lets stream 's' wait for it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: stream 'this->lift_' waits here for stream 's': the way there is there
// CHECK-NOTES: :[[@LINE-8]]:8: note: work that is enqueued on stream 's' after this function does not wait
// CHECK-NOTES: :[[@LINE-4]]:7: note: record an event in stream 'this->lift_' after cudaMemcpyAsync (device to device) and let stream 's' wait for it with cudaStreamWaitEvent before 'Porter::carry' returns
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'this->lift_' is created by its class here, and stream 's' comes from outside
    }
#ifdef ALONE
    cudaEventRecord(end_, lift_);
    cudaStreamWaitEvent(s, end_, 0);
#elif defined(LEFT)
    cudaEventRecord(end_, lift_);
#elif defined(SYNCED)
    cudaStreamSynchronize(lift_);
#elif defined(UNKNOWN)
    watch(lift_);
#elif defined(TOLD)
    cudaLaunchHostFunc(lift_, tell, this);
#else
    cudaEventRecord(end_, s);
#endif
    return true;
  }

 private:
  cudaStream_t lift_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};
