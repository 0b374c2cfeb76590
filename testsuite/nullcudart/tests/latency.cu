// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// STREAMSAN_NULL_LATENCY_US makes calls that wait for the device block, and no others.
//
// RUN: %build_static -o %t
// RUN: env STREAMSAN_NULL_LATENCY_US=300000 %t | %filecheck %s --check-prefix=SLOW
// RUN: %t | %filecheck %s --check-prefix=FAST

#include <chrono>

#include "check.h"

template <class Call>
bool blocks(Call call) {
  const auto start = std::chrono::steady_clock::now();
  CHECK(call());
  return std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(300);
}

int main() {
  int* word;
  int value = 0;
  CHECK(cudaMalloc(&word, sizeof(int)));
  // SLOW: synchronize 1, copy 1, asynchronous copy 0
  // FAST: synchronize 0, copy 0, asynchronous copy 0
  std::printf("synchronize %d, copy %d, asynchronous copy %d\n", blocks([] { return cudaDeviceSynchronize(); }),
              blocks([&] { return cudaMemcpy(word, &value, sizeof(int), cudaMemcpyHostToDevice); }),
              blocks([&] { return cudaMemcpyAsync(word, &value, sizeof(int), cudaMemcpyHostToDevice); }));
}
