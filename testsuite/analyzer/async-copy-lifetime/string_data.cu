// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// The characters of a std::string that is assigned anew.
#include <cuda_runtime.h>

#include <string>

void upload(char* device, cudaStream_t stream) {
  std::string text(100, 'a');
  cudaMemcpyAsync(device, text.data(), text.size(), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  text.append(1000, 'b');  // FIRES: async-copy-lifetime
  cudaStreamSynchronize(stream);
}
