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
    if (copied[i] != sent[i]) return false;  // FIRES: host-read-before-done
  }
  stream.synchronize();
  return true;
}
