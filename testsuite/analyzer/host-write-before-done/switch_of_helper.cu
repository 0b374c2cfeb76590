// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The caller tells a helper by a literal which case to take; the others write what is still being copied.
#include <cuda_runtime.h>

enum class Step { Clear, Scale, Count };

static void apply(float* values, int mode) {
  switch (mode) {
    case 0:
      break;
    case 1:
      values[0] = 0;
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+46]]:3: note: in the call to 'apply' here
// CHECK-NOTES: :[[@LINE+40]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+37]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:7: note: wait for stream 'stream' with cudaStreamSynchronize before the write
      break;
    case 4 ... 6:
      values[1] = 1;
      break;
    default:
      values[2] = 2;
      break;
  }
}

static void take(float* values, Step step, int* count) {
  switch (step) {
    case Step::Clear:
      values[3] = 0;
      break;
    case Step::Scale:
      values[4] *= 2;
// CHECK-MESSAGES: :[[@LINE-1]]:17: warning: the host may write 'staging' while cudaMemcpyAsync on a stream of the caller's still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+13]]:61: note: in the call to 'take' here
// CHECK-NOTES: :[[@LINE+24]]:3: note: in the call to 'through' here
// CHECK-NOTES: :[[@LINE+17]]:3: note: 'staging' is read here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE+14]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:17: note: wait for a stream of the caller's with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-7]]:17: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
      break;
    case Step::Count:
      ++*count;
      break;
  }
}

static void through(float* values, Step step, int* count) { take(values, step, count); }

void upload(float* device, int* count, cudaStream_t stream) {
  float* staging = nullptr;
  cudaMallocHost(&staging, 1024 * sizeof(float));
  apply(staging, 1);
  cudaMemcpyAsync(device, staging, 1024 * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  apply(staging, 0);
  through(staging, Step::Count, count);
#else
  apply(staging, 1);
  through(staging, Step::Scale, count);
#endif
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
