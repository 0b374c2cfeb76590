// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device, constant and managed variables: each has memory of its size, which copies reach by the symbol.
//
// RUN: %build_static -o %t
// RUN: %t | %filecheck %s

#include "check.h"

__device__ int table[16];
__constant__ float factor;
__managed__ int shared_counter = 0;
__global__ void use(int* out) { *out = table[1] + static_cast<int>(factor) + shared_counter; }

int main() {
  int values[16], back[2] = {};
  for (int i = 0; i < 16; ++i) values[i] = 10 * i;
  CHECK(cudaMemcpyToSymbol(table, values, sizeof(values)));
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof(back), 3 * sizeof(int)));
  // CHECK: table[3..4] = 30 40
  std::printf("table[3..4] = %d %d\n", back[0], back[1]);

  // CHECK: beyond: cudaErrorInvalidValue
  std::printf("beyond: %s\n", cudaGetErrorName(cudaMemcpyToSymbol(factor, values, 600)));

  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&bytes, table));
  CHECK(cudaMemset(address, 0, bytes));
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof(back), 3 * sizeof(int)));
  // CHECK: 64 bytes, now 0 0
  std::printf("%zu bytes, now %d %d\n", bytes, back[0], back[1]);

  shared_counter = 5;
  cudaPointerAttributes attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, &shared_counter));
  // CHECK: counter 5, managed 1
  std::printf("counter %d, managed %d\n", shared_counter, attributes.type == cudaMemoryTypeManaged);
  CHECK(cudaPointerGetAttributes(&attributes, values));
  // CHECK: stack unregistered 1
  std::printf("stack unregistered %d\n", attributes.type == cudaMemoryTypeUnregistered);
}
