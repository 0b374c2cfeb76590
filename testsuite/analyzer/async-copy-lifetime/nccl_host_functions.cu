// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s
// RUN: %check async-copy-lifetime %s -- -DFIXED
//
// Functions with NCCL's prefix that take no stream work on the host: what they are given may end when they return. One
// that takes a stream and is named after what NCCL does is work of that stream; any other is not known. A body says more
// than a name.
#include <cuda_runtime.h>

struct ncclProxy;
int ncclFindPath(ncclProxy* proxy, int from, int to, int* hops);
int ncclAllGatherPath(ncclProxy* proxy, int from, int to, int* hops, cudaStream_t stream);

int ncclPreparePath(ncclProxy* proxy, int* hops, cudaStream_t stream);

static int path(ncclProxy* proxy, int* hops, cudaStream_t stream) {
#ifdef FIXED
  return ncclFindPath(proxy, 0, 1, hops);
#else
  return ncclAllGatherPath(proxy, 0, 1, hops, stream);
#endif
}

bool is_far(ncclProxy* proxy, float* device, cudaStream_t stream) {
  cudaMemsetAsync(device, 0, 1024, stream);
  int hops = 0;
  return path(proxy, &hops, stream) == 0 && hops > 1;
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'hops' goes out of scope while ncclAllGatherPath on stream 'stream' still uses it [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-9]]:10: note: 'hops' is used here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:10: note: in the call to 'path' here
// CHECK-NOTES: :[[@LINE-4]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
}

bool is_near(ncclProxy* proxy, cudaStream_t stream) {
  int hops = 0;
  return ncclPreparePath(proxy, &hops, stream) == 0 && hops < 2;
}

static void ncclAllGatherHost(int* values, int count, cudaStream_t stream) {
  void* device = nullptr;
  cudaMalloc(&device, count * sizeof(int));
  cudaMemcpyAsync(device, values, count * sizeof(int), cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(values, device, count * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaFree(device);
}

int agreed(cudaStream_t stream) {
  int values[8] = {};
  ncclAllGatherHost(values, 8, stream);
  return values[0];
}
