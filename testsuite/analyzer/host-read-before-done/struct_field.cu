// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A field of a pinned struct that is a copy's destination.
#include <cuda_runtime.h>

struct Report {
  int errors;
  float worst;
};

float worst(const Report* d_report, cudaStream_t stream) {
  Report* report = nullptr;
  cudaMallocHost(&report, sizeof(Report));
  cudaMemcpyAsync(report, d_report, sizeof(Report), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  const float result = report->worst;
// CHECK-MESSAGES: :[[@LINE-1]]:24: warning: the host may read 'report' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'report' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'report' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:24: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  cudaFreeHost(report);
  return result;
}
