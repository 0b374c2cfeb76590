// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// ggml-org/llama.cpp#18310, HR: logits are fetched asynchronously per micro-batch and sampled without a wait.
#include <cuda_runtime.h>

struct Backend {
  cudaStream_t stream;
};

static void tensor_get_async(Backend* backend, const float* tensor, float* to, size_t bytes) {
  cudaMemcpyAsync(to, tensor, bytes, cudaMemcpyDeviceToHost, backend->stream);
}
static void synchronize(Backend* backend) { cudaStreamSynchronize(backend->stream); }

__global__ void forward(float* logits) { logits[threadIdx.x] += 1.0f; }

int decode(Backend* backend, float* d_logits, int batches, int vocabulary) {
  float* logits = nullptr;
  cudaMallocHost(&logits, vocabulary * sizeof(float));
  int best = 0;
  for (int b = 0; b < batches; ++b) {
    forward<<<1, 256, 0, backend->stream>>>(d_logits);
    tensor_get_async(backend, d_logits, logits, vocabulary * sizeof(float));
#ifdef FIXED
    synchronize(backend);
#endif
    for (int i = 0; i < vocabulary; ++i) {
      if (logits[i] > logits[best]) best = i;
// CHECK-MESSAGES: :[[@LINE-1]]:11: warning: the host may read 'logits' while cudaMemcpyAsync (device to host) on stream 'backend->stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-19]]:3: note: 'logits' is written here, on stream 'backend->stream'
// CHECK-NOTES: :[[@LINE-8]]:5: note: in the call to 'tensor_get_async' here
// CHECK-NOTES: :[[@LINE-13]]:3: note: 'logits' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:11: note: wait for stream 'backend->stream' with cudaStreamSynchronize before the read
    }
  }
  synchronize(backend);
  cudaFreeHost(logits);
  return best;
}
