// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory that goes away while an asynchronous copy may still use it. Today's driver has read (R-CPY-13) or written
// (R-CPY-14) pageable memory when the call returns, and waits in cudaFreeHost and cudaHostUnregister (R-ALC-05). Nobody
// promises it: latent. Repaired: the program waits for the stream first.
//
//   host_memory_freed upload|download|unmapped|free-host|unregistered
//
// `upload` and `download` are a std::vector that is destroyed at the end of its block.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "stage.h"

namespace {

void copy(float* host, float* device, cudaMemcpyKind kind, cudaStream_t stream) {
  void* to = kind == cudaMemcpyHostToDevice ? device : host;
  void* from = kind == cudaMemcpyHostToDevice ? host : device;
  CHECK(cudaMemcpyAsync(to, from, kBytes, kind, stream));  // site: copy
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
}

void in_a_vector(float* device, cudaMemcpyKind kind, cudaStream_t stream) {
  std::vector<float> host(kCount, 2.0f);
  copy(host.data(), device, kind, stream);
}  // site: vector

void in_a_mapping(float* device, cudaStream_t stream) {
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) std::exit(2);
  std::memset(host, 0, kBytes);
  copy(static_cast<float*>(host), device, cudaMemcpyHostToDevice, stream);
  munmap(host, kBytes);  // site: munmap
}

void in_pinned_memory(float* device, cudaStream_t stream) {
  float* host = pinned_floats();
  copy(host, device, cudaMemcpyDeviceToHost, stream);
  CHECK(cudaFreeHost(host));  // site: free-host
}

void in_registered_memory(float* device, cudaStream_t stream) {
  static std::vector<float> host(kCount, 2.0f);
  CHECK(cudaHostRegister(host.data(), kBytes, cudaHostRegisterDefault));
  copy(host.data(), device, cudaMemcpyHostToDevice, stream);
  CHECK(cudaHostUnregister(host.data()));  // site: unregister
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cudaStream_t stream = non_blocking_stream();
  float* device = device_floats();
  CHECK(cudaMemset(device, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(argv[1], "upload") == 0) in_a_vector(device, cudaMemcpyHostToDevice, stream);
  if (std::strcmp(argv[1], "download") == 0) in_a_vector(device, cudaMemcpyDeviceToHost, stream);
  if (std::strcmp(argv[1], "unmapped") == 0) in_a_mapping(device, stream);
  if (std::strcmp(argv[1], "free-host") == 0) in_pinned_memory(device, stream);
  if (std::strcmp(argv[1], "unregistered") == 0) in_registered_memory(device, stream);
  CHECK(cudaDeviceSynchronize());
  std::printf("%s: done\n", argv[1]);
  return 0;
}
