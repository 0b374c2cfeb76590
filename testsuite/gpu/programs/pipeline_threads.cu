// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline with a host thread for each half: one uploads, the other computes. A promise orders the *submission*, so
// the records of the two threads have one possible order; it does not order the GPU. Repaired: the uploader records an
// event before it fulfils the promise, and the other thread's stream waits for it.
#include <future>
#include <thread>

#include "check.h"
#include "kernels.cuh"

namespace {
constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

void produce(float* in, const float* host_in, cudaEvent_t uploaded, std::promise<void>& submitted) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMemcpyAsync(in, host_in, kBytes, cudaMemcpyHostToDevice, stream));  // site: copy
#ifdef FIXED
  CHECK(cudaEventRecord(uploaded, stream));
#else
  (void)uploaded;
#endif
  submitted.set_value();
  CHECK(cudaStreamDestroy(stream));
}

void consume(const float* in, float* out, float* host_out, cudaEvent_t uploaded, std::future<void> submitted) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  submitted.wait();
#ifdef FIXED
  CHECK(cudaStreamWaitEvent(stream, uploaded, 0));
#else
  (void)uploaded;
#endif
  scale<<<blocks_for(kCount), 256, 0, stream>>>(in, out, kCount, 3.0f);  // site: kernel
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(host_out, out, kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
}
}  // namespace

int main() {
  float *host_in, *host_out, *in, *out;
  CHECK(cudaMallocHost(&host_in, kBytes));
  CHECK(cudaMallocHost(&host_out, kBytes));
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&out, kBytes));
  for (int i = 0; i < kCount; ++i) host_in[i] = 2.0f;
  cudaEvent_t uploaded;
  CHECK(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));

  std::promise<void> submitted;
  std::thread consumer(consume, in, out, host_out, uploaded, submitted.get_future());
  std::thread producer(produce, in, host_in, uploaded, std::ref(submitted));
  producer.join();
  consumer.join();
  expect_all(host_out, kCount, 6.0f);

  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  return 0;
}
