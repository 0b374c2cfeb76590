// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// RUN: %check host-read-before-done %s -- -DFIXED -DSKIPPED
//
// Functions that walk through what they are given with a pointer of their own. The first round begins where the pointer
// was set to, also where a later round may leave the loop. What a function skips before it reads is another part.
#include <cuda_runtime.h>

extern "C" long write(int file, const void* from, unsigned long bytes);

static bool write_all(int file, const void* from, unsigned long bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    long done = write(file, at, bytes);  // FIRES: host-read-before-done
    if (done <= 0) return false;
    at += done;
    bytes -= done;
  }
  return true;
}

static float total(const float* of, int n) {
  float sum = 0;
#ifdef SKIPPED
  of += 1024;
#endif
  while (n-- > 0) sum += *of++;  // FIRES: host-read-before-done
  return sum;
}

bool save(const float* device, float* sum, int file, int n, cudaStream_t stream) {
  float *first, *second;
  cudaMallocHost(&first, n * sizeof(float));
  cudaMallocHost(&second, n * sizeof(float) + 4096);
#ifdef SKIPPED
  cudaMemcpyAsync(first, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaMemcpyAsync(second, device, 4096, cudaMemcpyDeviceToHost, stream);
#else
  cudaMemcpyAsync(first, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(second, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#endif
#if defined(FIXED) && !defined(SKIPPED)
  cudaStreamSynchronize(stream);
#endif
  const bool written = write_all(file, first, n * sizeof(float));
  *sum = total(second, n);
  cudaStreamSynchronize(stream);
  cudaFreeHost(second);
  cudaFreeHost(first);
  return written;
}
