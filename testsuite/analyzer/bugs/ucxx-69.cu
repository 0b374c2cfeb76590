// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// rapidsai/ucxx#69, HR: a test copies the received buffer to the host and compares without waiting for the stream.
#include <cuda_runtime.h>

#include <rmm/device_buffer.hpp>
#include <vector>

bool received_as_sent(const std::vector<int>& sent, rmm::cuda_stream_view stream) {
  rmm::device_buffer received(sent.data(), sent.size() * sizeof(int), stream);
  std::vector<int> copied(sent.size());
  cudaMemcpyAsync(copied.data(), received.data(), received.size(), cudaMemcpyDeviceToHost, stream.value());
#ifdef FIXED
  stream.synchronize();
#endif
  for (size_t i = 0; i < sent.size(); ++i) {
    if (copied[i] != sent[i]) return false;
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: the host may read 'copied' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'copied' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:20: note: 'copied' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:9: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  }
  stream.synchronize();
  return true;
}
