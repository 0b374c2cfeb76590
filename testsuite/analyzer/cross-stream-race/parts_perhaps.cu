// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe --suffix=MAYBE
//
// Parts of which it is not known whether they meet: a length that is a variable against an offset that is a number,
// columns of an image, slices of two loops. Never certain.
#include <cuda_runtime.h>

void length(float* device, const float* pinned, size_t n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaMemcpyAsync(device, pinned, n * sizeof(float), cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(device + 128, pinned + 128, 512, cudaMemcpyHostToDevice, b);
  // CHECK-MESSAGES-MAYBE: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'b' may write 'device' while cudaMemcpyAsync (host to device) on stream 'a' still writes it, if both use the same part of 'device' [streamsan-cross-stream-race]
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

void columns(float* image, size_t pitch, const float* pinned, size_t height) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaMemcpy2DAsync(image, pitch, pinned, 256, 256, height, cudaMemcpyHostToDevice, a);
  cudaMemcpy2DAsync(image + 64, pitch, pinned + 64, 256, 256, height, cudaMemcpyHostToDevice, b);
  // CHECK-MESSAGES-MAYBE: :[[@LINE-1]]:3: warning: cudaMemcpy2DAsync (host to device) on stream 'b' may write 'image' while cudaMemcpy2DAsync (host to device) on stream 'a' still writes it, if both use the same part of 'image' [streamsan-cross-stream-race]
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

void slices(float* device, const float* pinned, size_t n) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  for (int i = 0; i < 8; i += 2) {
    cudaMemcpyAsync(device + i * n, pinned + i * n, n * sizeof(float), cudaMemcpyHostToDevice, a);
    cudaMemcpyAsync(device + (i + 1) * n, pinned + (i + 1) * n, n * sizeof(float), cudaMemcpyHostToDevice, b);
    // CHECK-MESSAGES-MAYBE: :[[@LINE-2]]:5: warning: cudaMemcpyAsync (host to device) on stream 'a' may write 'device' while cudaMemcpyAsync (host to device) on stream 'b', in an earlier iteration, still writes it, if both use the same part of 'device' [streamsan-cross-stream-race]
    // CHECK-MESSAGES-MAYBE: :[[@LINE-2]]:5: warning: cudaMemcpyAsync (host to device) on stream 'b' may write 'device' while cudaMemcpyAsync (host to device) on stream 'a', in an earlier iteration, still writes it, if both use the same part of 'device' [streamsan-cross-stream-race]
  }
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
