// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache of blocks as inference servers keep one: a pool of 4,096 blocks in one allocation, a kernel that reads those
// of the current window through a table in device memory, and a copy stream that brings in the block of the next step
// while the kernel runs. Every launch has the same arguments; which bytes it reads is in the table.
//
// Now and then a block is used again for the new one:
//   racy              a block of the current window, which the kernel may be reading;
//   FIXED             one that left the window eight steps ago: other bytes of the same allocation, nothing to order;
//   FIXED and WAITED  a block of the current window, when the step that reads it is done.
// At steps without a pattern: a checker that looks at one step in so many must not be lucky or unlucky for ever. The
// steps are a few milliseconds apart, as in a server, so that a judge beside the program can keep up.
#include <unistd.h>

#include <numeric>
#include <utility>
#include <vector>

#include "stage.h"

namespace {

constexpr int kBlocks = 4096;
constexpr int kBlockFloats = 1024;
constexpr int kWindow = 64;
constexpr int kSteps = 300;

__global__ void attend(const float* pool, const int* table, float* out) {
  __shared__ float sums[128];
  const float* block = pool + static_cast<size_t>(table[blockIdx.x]) * kBlockFloats;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < kBlockFloats; i += blockDim.x) sum += block[i];
  sums[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

unsigned random_number() {
  static unsigned state = 2463534242u;
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

}  // namespace

int main() {
  cudaStream_t compute = non_blocking_stream();
  cudaStream_t upload = non_blocking_stream();
  float* pool = device_floats(kBlocks * kBlockFloats);
  float* out = device_floats(kWindow);
  float* sums = pinned_floats(kWindow);
  float* staging = pinned_floats(kBlockFloats);
  int *table, *window;
  CHECK(cudaMalloc(&table, kWindow * sizeof(int)));
  CHECK(cudaMallocHost(&window, kWindow * sizeof(int)));
  CHECK(cudaMemset(pool, 0, static_cast<size_t>(kBlocks) * kBlockFloats * sizeof(float)));
  CHECK(cudaDeviceSynchronize());

  // The sequence: step t reads order[t] to order[t + kWindow - 1], and brings order[t + kWindow] in.
  std::vector<int> free_blocks(kBlocks);
  std::iota(free_blocks.begin(), free_blocks.end(), 0);
  for (int i = kBlocks - 1; i > 0; --i) std::swap(free_blocks[i], free_blocks[random_number() % (i + 1)]);
  std::vector<int> order(free_blocks.end() - kWindow, free_blocks.end());
  free_blocks.resize(kBlocks - kWindow);
  std::vector<float> values(kBlocks, 0.0f);
  cudaEvent_t arrived = new_event();
  cudaEvent_t attended = new_event();

  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < kWindow; ++i) window[i] = order[step + i];
    CHECK(cudaMemcpyAsync(table, window, kWindow * sizeof(int), cudaMemcpyHostToDevice, compute));
    if (step > 0) CHECK(cudaStreamWaitEvent(compute, arrived, 0));
    attend<<<kWindow, 128, 0, compute>>>(pool, table, out);  // site: kernel
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(attended, compute));

    int next = free_blocks.back();
    // Not in the last steps: what was learned of the kernel is put right by a later launch, and there must be one.
    if (step >= 8 && step < kSteps - 20 && random_number() % 3 == 0) {
#if !defined(FIXED) || defined(WAITED)
      next = order[step];  // read by this step, and by none that follows
#else
      next = order[step - 8];
#endif
    } else {
      free_blocks.pop_back();
    }
#ifdef WAITED
    CHECK(cudaStreamWaitEvent(upload, attended, 0));
#endif
    for (int i = 0; i < kBlockFloats; ++i) staging[i] = static_cast<float>(step % 7 + 1);
    float* block = pool + static_cast<size_t>(next) * kBlockFloats;
    CHECK(cudaMemcpyAsync(block, staging, kBlockFloats * sizeof(float), cudaMemcpyHostToDevice, upload));  // site: copy
    CHECK(cudaEventRecord(arrived, upload));

    CHECK(cudaMemcpyAsync(sums, out, kWindow * sizeof(float), cudaMemcpyDeviceToHost, compute));
    CHECK(cudaStreamSynchronize(compute));
    for (int i = 0; i < kWindow; ++i) expect_all(sums + i, 1, values[order[step + i]] * kBlockFloats);
    CHECK(cudaEventSynchronize(arrived));
    values[next] = static_cast<float>(step % 7 + 1);
    order.push_back(next);
    usleep(4000);
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}
