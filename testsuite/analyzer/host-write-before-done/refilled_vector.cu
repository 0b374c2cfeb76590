// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A vector of pinned memory is emptied and filled again while a copy still reads its block: reported where it is filled.
// Silent: appending behind what is copied, a wait between the two, a vector that stays empty.
#include <cuda_runtime.h>

#include <vector>

template <typename T>
struct PinnedAllocator {
  using value_type = T;
  PinnedAllocator() = default;
  template <typename U>
  PinnedAllocator(const PinnedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    void* p = nullptr;
    cudaMallocHost(&p, n * sizeof(T));
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) { cudaFreeHost(p); }
  bool operator==(const PinnedAllocator&) const { return true; }
};
using Pinned = std::vector<int, PinnedAllocator<int>>;

void lists(int rounds, int* device, cudaStream_t s) {
  Pinned ids;
  for (int r = 0; r < rounds; ++r) {
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
    ids.clear();
    for (int i = 0; i < 100 + r; ++i)
      if (i % 3 != r) ids.push_back(i * r);
// CHECK-MESSAGES: :[[@LINE-1]]:23: warning: the host may write 'ids' while cudaMemcpyAsync (host to device) on stream 's', in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+3]]:5: note: 'ids' is read here, on stream 's'
// CHECK-NOTES: :[[@LINE-10]]:10: note: 'ids' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:23: note: wait for stream 's' with cudaStreamSynchronize before the write
    cudaMemcpyAsync(device, ids.data(), ids.size() * sizeof(int), cudaMemcpyHostToDevice, s);
  }
  cudaStreamSynchronize(s);
}

void rows(const std::vector<std::vector<int>>& table, int* device, cudaStream_t s) {
  Pinned row;
  for (const auto& one : table) {
#ifdef FIXED
    cudaStreamSynchronize(s);
#endif
    row.assign(one.begin(), one.end());
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'row' while cudaMemcpyAsync (host to device) on stream 's' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+4]]:5: note: 'row' is read here, on stream 's'
// CHECK-NOTES: :[[@LINE-3]]:5: note: 'row' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:5: note: wait for stream 's' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-5]]:5: note: analysed for the case that 'table.size()' is 2
    cudaMemcpyAsync(device, row.data(), row.size() * sizeof(int), cudaMemcpyHostToDevice, s);
  }
  cudaStreamSynchronize(s);
}

void append(int n, int* device, cudaStream_t s) {
  Pinned all;
  for (int i = 0; i < n; ++i) {
    all.push_back(i);
    cudaMemcpyAsync(device + i, &all.back(), sizeof(int), cudaMemcpyHostToDevice, s);
  }
  cudaStreamSynchronize(s);
}

void waits_in_between(int rounds, int n, int* device, cudaStream_t s) {
  Pinned ids;
  for (int r = 0; r < rounds; ++r) {
    ids.clear();
    if (r > 0) cudaStreamSynchronize(s);
    for (int i = 0; i < n; ++i) ids.push_back(i * r);
    cudaMemcpyAsync(device, ids.data(), n * sizeof(int), cudaMemcpyHostToDevice, s);
  }
  cudaStreamSynchronize(s);
}

void perhaps_waits(bool idle, int n, int* device, cudaStream_t s) {
  Pinned ids(n);
  cudaMemcpyAsync(device, ids.data(), n * sizeof(int), cudaMemcpyHostToDevice, s);
  ids.clear();
  if (idle) {
    n = 1;
  } else {
    cudaStreamSynchronize(s);
  }
  for (int i = 0; i < n; ++i) ids.push_back(i);
  cudaStreamSynchronize(s);
}

void stays_empty(int n, int* device, cudaStream_t s) {
  Pinned ids(n);
  cudaMemcpyAsync(device, ids.data(), n * sizeof(int), cudaMemcpyHostToDevice, s);
  ids.clear();
  cudaStreamSynchronize(s);
}
