// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four threads submit to a stream each: what is delayed depends on the streams and not on how the threads run.
//
// REQUIRES: nulldriver
// RUN: %build -Xlinker --export-dynamic-symbol=clock_nanosleep %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=9 %run %t > %t.one
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=9 %run %t > %t.two
// RUN: cmp %t.one %t.two
// RUN: %filecheck %s --input-file %t.one
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=10 %run %t > %t.ten
// RUN: not cmp -s %t.one %t.ten
// RUN: %t | %filecheck %s --check-prefix=OFF
//
// CHECK-COUNT-2: {{^D+$}}
// CHECK-NOT: {{^D+$}}
// OFF-NOT: D
#include <algorithm>
#include <thread>
#include <vector>

#include "must.h"
#include "sleeps.h"

static std::string fill(char* buffer, cudaStream_t stream) {
  return delays_of(100, [=](int) { must(cudaMemsetAsync(buffer, 0, 64, stream)); });
}

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t streams[4];
  for (cudaStream_t& stream : streams) must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::string delays[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&, i] { delays[i] = fill(buffer + 64 * i, streams[i]); });
  for (std::thread& thread : threads) thread.join();
  must(cudaDeviceSynchronize());
  // The slow streams first: which they are is the seed's business.
  std::stable_partition(delays, delays + 4, [](const std::string& one) { return one.find('.') == std::string::npos; });
  for (const std::string& one : delays) std::printf("%s\n", one.c_str());
}
