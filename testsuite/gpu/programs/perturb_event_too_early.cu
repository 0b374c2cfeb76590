// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The event is recorded in front of the kernel that it should cover, so the download waits for nothing; it comes long
// after the kernel all the same, unless the kernel's stream is slow.
#include "confirm.h"

int main() {
  cudaStream_t compute = non_blocking_stream();
  cudaStream_t download = non_blocking_stream();
  float* result = pinned_floats();
  float* data = device_floats();
  CHECK(cudaMemset(data, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  cudaEvent_t done = new_event();
#ifndef FIXED
  CHECK(cudaEventRecord(done, compute));
#endif
  fill<<<blocks_for(kCount), 256, 0, compute>>>(data, kCount, 5.0f);
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaEventRecord(done, compute));
#endif
  pause_host();
  CHECK(cudaStreamWaitEvent(download, done, 0));
  CHECK(cudaMemcpyAsync(result, data, kBytes, cudaMemcpyDeviceToHost, download));
  CHECK(cudaStreamSynchronize(download));
  const int wrong = tell_result(result, kCount, 5.0f);
  CHECK(cudaDeviceSynchronize());
  return wrong;
}
