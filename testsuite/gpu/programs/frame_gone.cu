// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local array under an asynchronous copy, in a function that returns: what is called next uses the same bytes.
// Today's driver has read (`upload`, R-CPY-13) or written (`download`, R-CPY-14) them when the call returns; nobody
// promises it. Repaired: the function waits before it returns.
#include <cstring>

#include "stage.h"

namespace {

constexpr int kLocal = 1024;

__attribute__((noinline)) void upload(int* device, cudaStream_t stream) {
  int local[kLocal];
  for (int i = 0; i < kLocal; ++i) local[i] = i;
  CHECK(cudaMemcpyAsync(device, local, sizeof local, cudaMemcpyHostToDevice, stream));  // site: upload
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
}

__attribute__((noinline)) void download(const int* device, cudaStream_t stream) {
  int local[kLocal];
  CHECK(cudaMemcpyAsync(local, device, sizeof local, cudaMemcpyDeviceToHost, stream));  // site: download
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
}

/// What a later call makes of the frame.
__attribute__((noinline)) int overwrite(int value) {
  volatile int local[kLocal];
  for (int i = 0; i < kLocal; ++i) local[i] = value;
  return local[kLocal - 1];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cudaStream_t stream = non_blocking_stream();
  int* device = device_memory<int>(kLocal);
  CHECK(cudaMemset(device, 0, kLocal * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(argv[1], "upload") == 0) {
    upload(device, stream);
  } else {
    download(device, stream);
  }
  const int last = overwrite(7);
  CHECK(cudaStreamSynchronize(stream));
  std::printf("%s: done, %d\n", argv[1], last);
  return 0;
}
