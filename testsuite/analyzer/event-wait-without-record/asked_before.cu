// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The host waits for the last upload where there was one, which a member tells: what is not understood may be this. A
// wait that no such condition leaves out, or that nothing records behind, is for nothing.
#include <cuda_runtime.h>

#include <memory>
#include <optional>
#include <vector>

struct Job {
  float v;
};

#ifdef FIXED
#define IF(condition) if (condition)
#else
#define IF(condition)
#endif

#define UPLOADER(NAME, FIELD, IN_FLIGHT, SENT)                         \
  struct NAME {                                                        \
    NAME() {                                                           \
      cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);            \
      cudaEventCreateWithFlags(&sent, cudaEventDisableTiming);         \
      cudaMallocHost(&host, 4096);                                     \
    }                                                                  \
    NAME(const NAME&) = delete;                                        \
    void wait() { cudaEventSynchronize(sent); }                        \
    void send(float* device, float v) {                                \
      IF (IN_FLIGHT) wait();                                           \
      host[0] = v;                                                     \
      cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, s);  \
      cudaEventRecord(sent, s);                                        \
      SENT;                                                            \
    }                                                                  \
    FIELD;                                                             \
    float* host;                                                       \
    cudaStream_t s;                                                    \
    cudaEvent_t sent;                                                  \
  };

UPLOADER(Unique, std::unique_ptr<Job> now, now, now = std::make_unique<Job>())
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: cudaEventSynchronize waits for nothing: event 'up.sent' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-2]]:1: note: in the call to 'Unique::wait' here
// CHECK-NOTES: :[[@LINE-3]]:1: note: event 'up.sent' is recorded only here, after the wait
// CHECK-NOTES: :[[@LINE-4]]:1: note: event 'up.sent' is created here
// CHECK-NOTES: :[[@LINE+30]]:12: note: in the call to 'Unique::Unique' here
// CHECK-NOTES: :[[@LINE-6]]:1: note: record event 'up.sent' with cudaEventRecord before the wait
// CHECK-NOTES: :[[@LINE+29]]:3: note: in the call to 'Unique::send' here
UPLOADER(Shared, std::shared_ptr<Job> now, now != nullptr && now->v > 0, now = std::make_shared<Job>())
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: cudaEventSynchronize waits for nothing: event 'up.sent' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-2]]:1: note: in the call to 'Shared::wait' here
// CHECK-NOTES: :[[@LINE-3]]:1: note: event 'up.sent' is recorded only here, after the wait
// CHECK-NOTES: :[[@LINE-4]]:1: note: event 'up.sent' is created here
// CHECK-NOTES: :[[@LINE+22]]:12: note: in the call to 'Shared::Shared' here
// CHECK-NOTES: :[[@LINE-6]]:1: note: record event 'up.sent' with cudaEventRecord before the wait
// CHECK-NOTES: :[[@LINE+21]]:3: note: in the call to 'Shared::send' here
UPLOADER(Optional, std::optional<Job> now, now.has_value(), now = Job{})
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: cudaEventSynchronize waits for nothing: event 'up.sent' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-2]]:1: note: in the call to 'Optional::wait' here
// CHECK-NOTES: :[[@LINE-3]]:1: note: event 'up.sent' is recorded only here, after the wait
// CHECK-NOTES: :[[@LINE-4]]:1: note: event 'up.sent' is created here
// CHECK-NOTES: :[[@LINE+14]]:12: note: in the call to 'Optional::Optional' here
// CHECK-NOTES: :[[@LINE-6]]:1: note: record event 'up.sent' with cudaEventRecord before the wait
// CHECK-NOTES: :[[@LINE+13]]:3: note: in the call to 'Optional::send' here
UPLOADER(Several, std::vector<Job> now, !now.empty(), now.push_back(Job{}))
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: cudaEventSynchronize waits for nothing: event 'up.sent' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-2]]:1: note: in the call to 'Several::wait' here
// CHECK-NOTES: :[[@LINE-3]]:1: note: event 'up.sent' is recorded only here, after the wait
// CHECK-NOTES: :[[@LINE-4]]:1: note: event 'up.sent' is created here
// CHECK-NOTES: :[[@LINE+6]]:12: note: in the call to 'Several::Several' here
// CHECK-NOTES: :[[@LINE-6]]:1: note: record event 'up.sent' with cudaEventRecord before the wait
// CHECK-NOTES: :[[@LINE+5]]:3: note: in the call to 'Several::send' here

template <typename Uploader>
void twice(float* device) {
  Uploader up;
  up.send(device, 1);
  up.send(device, 2);
  cudaDeviceSynchronize();
}
void all(float* device) {
  twice<Unique>(device);
  twice<Shared>(device);
  twice<Optional>(device);
  twice<Several>(device);
}

// Whatever the condition is: nothing records it.
void waits_for_nothing(const std::optional<Job>& job) {
  cudaEvent_t never;
  cudaEventCreateWithFlags(&never, cudaEventDisableTiming);
#ifdef FIXED
  cudaEventRecord(never);
#endif
  if (job.has_value()) cudaEventSynchronize(never);
// CHECK-MESSAGES: :[[@LINE-1]]:24: warning: cudaEventSynchronize waits for nothing: event 'never' was never recorded [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-6]]:3: note: event 'never' is created here
// CHECK-NOTES: :[[@LINE-3]]:24: note: record event 'never' with cudaEventRecord before the wait
  cudaEventDestroy(never);
}
