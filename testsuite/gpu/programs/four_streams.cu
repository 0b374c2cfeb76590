// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of every tutorial: one buffer in four slices, and on a stream for each slice an upload, a kernel and a
// download. Racy: the kernel of the second slice takes four floats of the third with it. Which bytes those are is
// printed, and exactly they must be reported.
#include "kernels.cuh"
#include "stage.h"

int main() {
  constexpr int kSlices = 4;
  constexpr int kRounds = 5;
  constexpr int kPart = kCount / kSlices;
#ifdef FIXED
  constexpr int kTooMany = 0;
#else
  constexpr int kTooMany = 4;
#endif
  float* data = device_floats();
  float* in = pinned_floats(kCount, 1.0f);
  float* out = pinned_floats();
  cudaStream_t streams[kSlices];
  for (cudaStream_t& stream : streams) stream = non_blocking_stream();
  if (kTooMany > 0) {
    std::printf(R"({"overlap": [%llu, %zu]})"
                "\n",
                static_cast<unsigned long long>(reinterpret_cast<size_t>(data + 2 * kPart)), kTooMany * sizeof(float));
    std::fflush(stdout);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kSlices; ++i) {
      const int begin = i * kPart;
      const int count = kPart + (i == 1 ? kTooMany : 0);
      const size_t bytes = kPart * sizeof(float);
      CHECK(cudaMemcpyAsync(data + begin, in + begin, bytes, cudaMemcpyHostToDevice, streams[i]));  // site: upload
      add_one<<<blocks_for(count), 256, 0, streams[i]>>>(data + begin, count);                      // site: kernel
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(out + begin, data + begin, bytes, cudaMemcpyDeviceToHost, streams[i]));
    }
  }
  CHECK(cudaDeviceSynchronize());
  expect_all(out, kCount, 2.0f);
  return 0;
}
