// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record %s
// RUN: %check event-wait-without-record %s -- -DFIXED
//
// cms-patatrack/pixeltrack-standalone#202, EV: other streams wait for the upload's event, which nobody records.
#include <cuda_runtime.h>

class Conditions {
 public:
  Conditions() {
    cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming);
    cudaMalloc(&data_, 1024);
  }
  ~Conditions() { cudaEventDestroy(uploaded_); }
  void upload(const float* pinned, cudaStream_t stream) {
    cudaMemcpyAsync(data_, pinned, 1024, cudaMemcpyHostToDevice, stream);
#ifdef FIXED
    cudaEventRecord(uploaded_, stream);
#endif
  }
  const float* get(cudaStream_t stream) const {
    cudaStreamWaitEvent(stream, uploaded_, 0);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: stream 'second' waits for event 'conditions.uploaded_', which was never recorded: the wait does nothing [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+17]]:38: note: in the call to 'Conditions::get' here
// CHECK-NOTES: :[[@LINE-14]]:5: note: event 'conditions.uploaded_' is created here
// CHECK-NOTES: :[[@LINE+13]]:14: note: in the call to 'Conditions::Conditions' here
// CHECK-NOTES: :[[@LINE-5]]:5: note: record event 'conditions.uploaded_' with cudaEventRecord before the wait
    return data_;
  }

 private:
  cudaEvent_t uploaded_;
  float* data_ = nullptr;
};

__global__ void reconstruct(const float* conditions, float* out) { out[threadIdx.x] = conditions[threadIdx.x]; }

void events(const float* pinned, float* out, cudaStream_t first, cudaStream_t second) {
  Conditions conditions;
  conditions.upload(pinned, first);
  reconstruct<<<1, 256, 0, second>>>(conditions.get(second), out);
  cudaStreamSynchronize(second);
}
