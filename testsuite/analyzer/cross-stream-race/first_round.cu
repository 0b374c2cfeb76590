// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely
//
// What a loop writes part by part begins at the begin of the buffer, whatever its counter begins at: `i - 1` from 1,
// rows of rows, the argument of a function.
#include <cuda_runtime.h>

__global__ void sum(float* total, const float* parts) { total[threadIdx.x] += parts[threadIdx.x]; }
__global__ void sum_of(float* total, const float* parts, int part, int n) {
  total[threadIdx.x] += parts[part * n + threadIdx.x];
}
__global__ void sum_so_many(float* total, const float* parts, int n) {
  if (threadIdx.x >= n) return;
  total[threadIdx.x] += parts[threadIdx.x];
}
__device__ bool beyond(int i, int n) {
  if (i < n) return false;
  return true;
}
__global__ void sum_behind(float* total, const float* parts, int n) {
  if (!beyond(threadIdx.x, n)) return;
  total[threadIdx.x] += parts[threadIdx.x];
}

struct Node {
  Node() {
    cudaStreamCreateWithFlags(&receive, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&received, cudaEventDisableTiming);
    cudaMalloc(&parts, 1 << 24);
    cudaMalloc(&total, 1 << 20);
  }
  Node(const Node&) = delete;

  void fetch(const float* from, int slot, int n) {
    cudaMemcpyAsync(parts + size_t(slot) * n, from, n * sizeof(float), cudaMemcpyDeviceToDevice, receive);
  }
  void join() {
#ifdef FIXED
    cudaEventRecord(received, receive);
    cudaStreamWaitEvent(work, received, 0);
#endif
  }

  cudaStream_t receive, work;
  cudaEvent_t received;
  float *parts, *total;
};

void from_one(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 1; peer < count; ++peer)
    cudaMemcpyAsync(node.parts + (peer - 1) * n, peers[peer], n * sizeof(float), cudaMemcpyDeviceToDevice,
                    node.receive);
  node.join();
  sum<<<1, 32, 0, node.work>>>(node.total, node.parts);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sum' on stream 'node.work' may read 'node.parts' while cudaMemcpyAsync (device to device) on stream 'node.receive' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-5]]:5: note: 'node.parts' is written here, on stream 'node.receive'
// CHECK-NOTES: :[[@LINE-31]]:5: note: stream 'node.receive' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-31]]:5: note: stream 'node.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-30]]:5: note: 'node.parts' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'node.work' after stream 'node.receive': record an event in stream 'node.receive' after the write and let stream 'node.work' wait for it with cudaStreamWaitEvent before kernel 'sum'
  cudaDeviceSynchronize();
}

void by_argument(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 1; peer < count; ++peer) node.fetch(peers[peer], peer - 1, n);
  node.join();
  sum<<<1, 32, 0, node.work>>>(node.total, node.parts);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sum' on stream 'node.work' may read 'node.parts' while cudaMemcpyAsync (device to device) on stream 'node.receive' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-34]]:5: note: 'node.parts' is written here, on stream 'node.receive'
// CHECK-NOTES: :[[@LINE-5]]:44: note: in the call to 'Node::fetch' here
// CHECK-NOTES: :[[@LINE-45]]:5: note: stream 'node.receive' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-45]]:5: note: stream 'node.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-44]]:5: note: 'node.parts' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'node.work' after stream 'node.receive': record an event in stream 'node.receive' after the write and let stream 'node.work' wait for it with cudaStreamWaitEvent before kernel 'sum'
  cudaDeviceSynchronize();
}

void rows_of_rows(Node& node, const float* const* peers, int count, int n) {
  for (int row = 0; row < count; ++row)
    for (int peer = 1; peer < 4; ++peer)
      cudaMemcpyAsync(node.parts + (row * 3 + peer - 1) * n, peers[peer], n * sizeof(float), cudaMemcpyDeviceToDevice,
                      node.receive);
  node.join();
  sum<<<1, 32, 0, node.work>>>(node.total, node.parts);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'sum' on stream 'node.work' may read 'node.parts' while cudaMemcpyAsync (device to device) on stream 'node.receive' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-5]]:7: note: 'node.parts' is written here, on stream 'node.receive'
// CHECK-NOTES: :[[@LINE-61]]:5: note: stream 'node.receive' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-61]]:5: note: stream 'node.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-60]]:5: note: 'node.parts' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'node.work' after stream 'node.receive': record an event in stream 'node.receive' after the write and let stream 'node.work' wait for it with cudaStreamWaitEvent before kernel 'sum'
  cudaDeviceSynchronize();
}

// The first part is its own, which no peer sends.
void own_part_first(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 1; peer < count; ++peer) node.fetch(peers[peer], peer, n);
  cudaMemcpyAsync(node.total, node.parts, n * sizeof(float), cudaMemcpyDeviceToDevice, node.work);
  cudaDeviceSynchronize();
}

// An argument says which part the kernel is for.
void given_part(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 0; peer < count; ++peer) {
    node.fetch(peers[peer], peer, n);
    sum_of<<<1, 32, 0, node.work>>>(node.total, node.parts, peer + 1, n);
  }
  cudaDeviceSynchronize();
}

// The first round has been waited for.
void first_round_waited_for(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 0; peer < count; ++peer) {
    node.fetch(peers[peer], peer, n);
    if (peer == 0) cudaStreamSynchronize(node.receive);
  }
  cudaMemcpyAsync(node.total, node.parts, n * sizeof(float), cudaMemcpyDeviceToDevice, node.work);
  cudaDeviceSynchronize();
}

// The kernel is given how much there is so far.
void so_many(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 0; peer < count; ++peer) {
    node.fetch(peers[peer], peer, n);
    node.join();
    sum_so_many<<<1, 32, 0, node.work>>>(node.total, node.parts, (peer + 1) * n);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'sum_so_many' on stream 'node.work' may read 'node.parts' while cudaMemcpyAsync (device to device) on stream 'node.receive' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-92]]:5: note: 'node.parts' is written here, on stream 'node.receive'
// CHECK-NOTES: :[[@LINE-5]]:5: note: in the call to 'Node::fetch' here
// CHECK-NOTES: :[[@LINE-103]]:5: note: stream 'node.receive' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-103]]:5: note: stream 'node.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-102]]:5: note: 'node.parts' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'node.work' after stream 'node.receive': record an event in stream 'node.receive' after the write and let stream 'node.work' wait for it with cudaStreamWaitEvent before kernel 'sum_so_many'
  }
  cudaDeviceSynchronize();
}

// It works on what is behind that, which is from before.
void behind(Node& node, const float* const* peers, int count, int n) {
  for (int peer = 0; peer < count; ++peer) {
    node.fetch(peers[peer], peer, n);
    sum_behind<<<1, 32, 0, node.work>>>(node.total, node.parts, (peer + 1) * n);
    cudaStreamSynchronize(node.work);
  }
  cudaDeviceSynchronize();
}
