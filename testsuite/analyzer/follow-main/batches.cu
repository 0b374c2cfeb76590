// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
// RUN: %expect 1 %tidy %s -- %mock | %filecheck %s
//
// A batch of copies reads each source in stream order, while it is called, or at any time until it is done: as the
// attributes of that copy say.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

constexpr int kPots = 4, kBytes = 4096;

__global__ void glaze(float* pot, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) pot[i] += 1;
}

int main() {
  cudaStream_t kiln, shop;
  cudaStreamCreateWithFlags(&kiln, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&shop, cudaStreamNonBlocking);
  std::vector<void*> to(kPots);
  std::vector<const void*> from(kPots);
  const std::vector<std::size_t> sizes(kPots, kBytes);
  float* pots[kPots];
  for (int i = 0; i < kPots; ++i) {
    cudaMalloc(&pots[i], kBytes);
    cudaMallocHost(&to[i], kBytes);
    from[i] = pots[i];
  }
  cudaDeviceSynchronize();
  std::size_t firsts[] = {0, 2};
  cudaMemcpyAttributes how[2] = {};
  how[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;

  // The first two keep the order of the stream, the others do not.
  how[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
  glaze<<<8, 128, 0, kiln>>>(pots[1], kBytes / 4);
#ifndef FIXED
  glaze<<<8, 128, 0, kiln>>>(pots[2], kBytes / 4);
#endif
  // CHECK: [[@LINE+2]]:3: warning: cudaMemcpyBatchAsync on stream 'kiln' may read 'pots[i]' while kernel 'glaze' on stream 'kiln' still writes it
  // CHECK: [[@LINE+1]]:3: note: the batch may read this source out of stream order, as its srcAccessOrder says: give it cudaMemcpySrcAccessOrderStream
  cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), kPots, how, firsts, 2, kiln);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();

  // Another stream.
  glaze<<<8, 128, 0, kiln>>>(pots[0], kBytes / 4);
#ifdef FIXED
  cudaStreamSynchronize(kiln);
#endif
  how[1].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), kPots, how, firsts, 1, shop);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();

  // What was read during the call may be written behind it.
  std::vector<void*> back(pots, pots + kPots);
  std::vector<const void*> given(to.begin(), to.end());
#ifdef FIXED
  how[0].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
#endif
  cudaMemcpyBatchAsync(back.data(), given.data(), sizes.data(), kPots, how, firsts, 1, shop);
  memset(to[3], 0, kBytes);  // FIRES: host-write-before-done
  cudaDeviceSynchronize();
}
