// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Who reads from a pipe waits for the thread that writes to it; with a variable that nobody waits for, nothing is ordered.
#include <cuda_runtime.h>
#include <unistd.h>

#include <thread>

int main() {
  float *snow, *host;
  cudaStream_t fall, plough;
  cudaMalloc(&snow, 4096);
  cudaMallocHost(&host, 4096);
  cudaStreamCreateWithFlags(&fall, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&plough, cudaStreamNonBlocking);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::thread weather([&] {
    cudaMemsetAsync(snow, 1, 4096, fall);
#ifdef FIXED
    cudaStreamSynchronize(fall);
#endif
    char done = 1;
    (void)!write(ends[1], &done, 1);
  });
#ifdef FIXED
  char done = 0;
  (void)!read(ends[0], &done, 1);
#else
  weather.join();
#endif
  cudaMemcpyAsync(host, snow, 4096, cudaMemcpyDeviceToHost, plough);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
#ifdef FIXED
  weather.join();
#endif
}
