// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// The event is a member of a helper class that is private to the class which uses it: nobody else can record it.
#include <cuda_runtime.h>
#include <vector>

class Tables {
 public:
  explicit Tables(int devices) : of_device_(devices) {
    for (int d = 0; d < devices; ++d) {
      cudaSetDevice(d);
      cudaEventCreateWithFlags(&of_device_[d].loaded, cudaEventDisableTiming);
    }
  }
  ~Tables() {
    for (auto& table : of_device_) cudaEventDestroy(table.loaded);
  }
  void load(int device, float* to, const float* pinned, size_t bytes, cudaStream_t stream) {
    Table& table = of_device_[device];
    if (!table.queued) {
      cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
      cudaEventRecord(table.loaded, stream);
#endif
      table.queued = true;
    } else {
      cudaStreamWaitEvent(stream, table.loaded, 0);  // FIRES: event-wait-without-record
    }
  }

 private:
  struct Table {
    cudaEvent_t loaded = nullptr;
    bool queued = false;
  };
  std::vector<Table> of_device_;
};
