// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// A graph keeps the address of host memory that a captured copy uses: each launch needs the memory, pinned or not.
#include <cuda_runtime.h>

#include <cstdlib>
#include <memory>
#include <vector>

__global__ void scale(float* m) { m[threadIdx.x] *= 2.0f; }

struct Pinned {
  explicit Pinned(int n) {
    float* raw = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&raw), n * sizeof(float));
    data = std::shared_ptr<float>(raw, [](float* p) { cudaFreeHost(p); });
  }
  std::shared_ptr<float> data;
};

struct Graph {
  cudaGraphExec_t exec = nullptr;
  std::shared_ptr<float> kept;
  std::vector<float> kept_too;
};

Graph from_pinned(float* d, int n, cudaStream_t s) {
  Pinned staging(n);
  for (int i = 0; i < n; ++i) staging.data.get()[i] = 1.0f;
  Graph made;
  cudaGraph_t graph;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(d, staging.data.get(), n * sizeof(float), cudaMemcpyHostToDevice, s);
  scale<<<1, 64, 0, s>>>(d);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&made.exec, graph, 0);
  cudaGraphDestroy(graph);
#ifdef FIXED
  made.kept = staging.data;
#endif
  return made;
}

Graph from_vector(float* d, int n, cudaStream_t s) {
  std::vector<float> result(n);
  Graph made;
  cudaGraph_t graph;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  scale<<<1, 64, 0, s>>>(d);
  cudaMemcpyAsync(result.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&made.exec, graph, 0);
  cudaGraphDestroy(graph);
#ifdef FIXED
  made.kept_too = std::move(result);
#endif
  return made;
}

void rows(float* d, cudaStream_t s) {
  float* h = static_cast<float*>(std::malloc(8 * 64));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpy2DAsync(d, 32, h, 64, 32, 8, cudaMemcpyHostToDevice, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
#ifndef FIXED
  std::free(h);
#endif
  cudaGraphLaunch(exec, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy2DAsync of a graph on stream 's' may read memory after the host has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-4]]:3: note: the memory is freed here
// CHECK-NOTES: :[[@LINE-3]]:3: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE-4]]:3: note: main() was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+84]]:3: note: in the call to 'rows' here
  cudaStreamSynchronize(s);
#ifdef FIXED
  std::free(h);
#endif
}

/// What the graph does now was built by hand.
void updated(float* d, cudaStream_t s) {
  float* h;
  cudaMallocHost(&h, 64 * sizeof(float));
  cudaGraph_t graph, built;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(d, h, 64 * sizeof(float), cudaMemcpyHostToDevice, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphCreate(&built, 0);
  cudaGraphExecUpdateResultInfo info;
  cudaGraphExecUpdate(exec, built, &info);
  cudaFreeHost(h);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
}

/// The node that needed the memory is gone.
void without_upload(float* d, cudaStream_t s) {
  float* h;
  cudaMallocHost(&h, 64 * sizeof(float));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(d, h, 64 * sizeof(float), cudaMemcpyHostToDevice, s);
  scale<<<1, 64, 0, s>>>(d);
  cudaStreamEndCapture(s, &graph);
  cudaGraphNode_t upload;
  size_t count = 1;
  cudaGraphGetRootNodes(graph, &upload, &count);
  cudaGraphDestroyNode(upload);
  cudaFreeHost(h);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
}

int main() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* d;
  cudaMalloc(&d, 64 * sizeof(float));
  Graph up = from_pinned(d, 64, s);
  Graph down = from_vector(d, 64, s);
  for (int step = 0; step < 3; ++step) {
    cudaGraphLaunch(up.exec, s);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync of a graph on stream 's' may read 'raw' after cudaFreeHost has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-115]]:55: note: 'raw' is freed here
// CHECK-NOTES: :[[@LINE-90]]:1: note: in the call to 'operator()' here
// CHECK-NOTES: :[[@LINE-7]]:14: note: in the call to 'from_pinned' here
// CHECK-NOTES: :[[@LINE-119]]:5: note: 'raw' is allocated here
// CHECK-NOTES: :[[@LINE-122]]:26: note: in the call to 'Pinned' here
// CHECK-NOTES: :[[@LINE-108]]:10: note: in the call to 'Pinned' here
// CHECK-NOTES: :[[@LINE-8]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE-9]]:5: note: main() was followed to here, with zeros for what the GPU computes
    cudaGraphLaunch(down.exec, s);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync of a graph on stream 's' may write memory after the host has freed it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-83]]:1: note: the memory is freed here
// CHECK-NOTES: :[[@LINE-15]]:16: note: in the call to 'from_vector' here
// CHECK-NOTES: :[[@LINE-4]]:5: note: make the graph anew once its memory is freed, or keep the memory while it can be launched
// CHECK-NOTES: :[[@LINE-5]]:5: note: main() was followed to here, with zeros for what the GPU computes
  }
  // Made anew with memory that is there, in place of the one before.
  for (int step = 0; step < 3; ++step) {
    Pinned own(64);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
    cudaMemcpyAsync(d, own.data.get(), 64 * sizeof(float), cudaMemcpyHostToDevice, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  rows(d, s);
  updated(d, s);
  without_upload(d, s);
  cudaFree(d);
}
