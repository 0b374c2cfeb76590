// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s -- -Wno-uninitialized
//
// References that are initialised by themselves, or by each other, name no list.
#include <cuda_runtime.h>

#include <vector>

float* itself() {
  std::vector<float*>& list = list;
  float* block = list.back();
  list.pop_back();
  return block;
}

float* element() {
  std::vector<std::vector<float*>>& lists = (lists);
  float* block = lists[0].back();
  lists[0].pop_back();
  return block;
}

void put(std::vector<float*>& list, float* block) { list.push_back(block); }

struct Held {
  std::vector<float*>& list;
  Held() : list(list) {}
  float* take() {
    auto& named = list;
    float* block = named.back();
    named.pop_back();
    return block;
  }
};

void options(float* device, cudaStream_t stream) {
  static float* const& memory = memory;
  cudaMemcpyAsync(device, memory, 64, cudaMemcpyDeviceToDevice, stream);
}
