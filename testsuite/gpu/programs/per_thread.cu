// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two host threads, default streams only. Built the ordinary way both threads use the one legacy stream, and the
// program is correct. Built with --default-stream per-thread each thread has a stream of its own (R-STR-03) and the
// same source is racy: the trap of switching that flag on. Repaired for both builds: an event.
#include <future>
#include <thread>

#include "check.h"
#include "kernels.cuh"

namespace {
constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

void produce(float* data, cudaEvent_t produced, std::promise<void>& submitted) {
  CHECK(cudaMemsetAsync(data, 0, kBytes, 0));  // site: fill
  CHECK(cudaEventRecord(produced, 0));
  submitted.set_value();
}

void consume(float* data, float* out, cudaEvent_t produced, std::future<void> submitted) {
  submitted.wait();
#ifdef FIXED
  CHECK(cudaStreamWaitEvent(0, produced, 0));
#else
  (void)produced;
#endif
  scale<<<blocks_for(kCount), 256>>>(data, out, kCount, 3.0f);  // site: kernel
  CHECK(cudaGetLastError());
}
}  // namespace

int main() {
  float *data, *out;
  CHECK(cudaMalloc(&data, kBytes));
  CHECK(cudaMalloc(&out, kBytes));
  cudaEvent_t produced;
  CHECK(cudaEventCreateWithFlags(&produced, cudaEventDisableTiming));

  std::promise<void> submitted;
  std::thread consumer(consume, data, out, produced, submitted.get_future());
  std::thread producer(produce, data, produced, std::ref(submitted));
  producer.join();
  consumer.join();

  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  CHECK(cudaFree(out));
  return 0;
}
