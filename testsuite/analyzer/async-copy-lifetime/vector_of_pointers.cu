// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// A table of pointers, or of structs with pointers, is a vector: its bytes lie in the vector's block, and end with it.
#include <cuda_runtime.h>

#include <utility>
#include <vector>

void upload(float** to, float* base, int n, cudaStream_t stream) {
  std::vector<float*> rows(n);
  for (int i = 0; i < n; ++i) rows[i] = base + i;
  cudaMemcpyAsync(to, &rows[0], n * sizeof(float*), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'rows' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'rows' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:23: note: 'rows' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer

struct Task {
  const float* from;
  float* to;
};

void tasks(Task* to, float* a, float* b, int n, cudaStream_t stream) {
  std::vector<Task> list;
  for (int i = 0; i < n; ++i) list.push_back(Task{a, b});
  cudaMemcpyAsync(to, list.data(), n * sizeof(Task), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'list' goes out of scope while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'list' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer

// Whom the block is moved to keeps it; the copy waits; the table is the caller's.
struct Keeper {
  std::vector<std::vector<float*>> kept;
};
void moved(float** to, float* base, int n, Keeper& keeper, cudaStream_t stream) {
  std::vector<float*> rows(n);
  rows[0] = base;
  cudaMemcpyAsync(to, rows.data(), n * sizeof(float*), cudaMemcpyHostToDevice, stream);
  keeper.kept.push_back(std::move(rows));
}
void synchronous(float** to, float* base, int n) {
  std::vector<float*> rows(n);
  rows[0] = base;
  cudaMemcpy(to, rows.data(), n * sizeof(float*), cudaMemcpyHostToDevice);
}
void of_the_caller(float** to, std::vector<float*>& rows, cudaStream_t stream) {
  cudaMemcpyAsync(to, &rows[0], rows.size() * sizeof(float*), cudaMemcpyHostToDevice, stream);
}
