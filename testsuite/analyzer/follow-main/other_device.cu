// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// No main(): an event is recorded in a stream of another device than its own, which fails. The caller's outlets are on two
// devices; the events that the function keeps for later are of the device for which they were made first.
#include <cuda_runtime.h>

#include <map>
#include <vector>

struct Outlet {
  int device;
  char* memory;
  cudaStream_t stream;
};

class Spares {
 public:
  cudaEvent_t take(int device) {
    std::vector<cudaEvent_t>& list = lists_[key(device)];
    cudaEvent_t event = nullptr;
    if (list.empty()) {
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    } else {
      event = list.back();
      list.pop_back();
    }
    return event;
  }
  void put(int device, cudaEvent_t event) { lists_[key(device)].push_back(event); }

 private:
#ifdef FIXED
  static int key(int device) { return device; }
#else
  static int key(int) { return 0; }
#endif
  std::map<int, std::vector<cudaEvent_t>> lists_;
};

void clear_all(const std::vector<Outlet>& outlets, size_t bytes) {
  Spares spares;
  for (const Outlet& outlet : outlets) {
    cudaSetDevice(outlet.device);
    cudaMemsetAsync(outlet.memory, 0, bytes, outlet.stream);
    cudaEvent_t cleared = spares.take(outlet.device);
    cudaEventRecord(cleared, outlet.stream);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the record of event 'event' in a stream of the caller's fails: the event is created on device 0, the stream on device 1; who waits for the event then waits for nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE-26]]:7: note: event 'event' is declared here
// CHECK-NOTES: :[[@LINE-4]]:34: note: in the call to 'take' here
// CHECK-NOTES: :[[@LINE-4]]:5: note: create an event for each device, and record that of the stream's device
// CHECK-NOTES: :[[@LINE-5]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
    cudaEventSynchronize(cleared);
    spares.put(outlet.device, cleared);
  }
}
