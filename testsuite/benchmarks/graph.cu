// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A captured graph of 1,000 small kernels, timed: what a launch of it costs, or an instantiation.
//
// The kernels use eight buffers by turns, in two branches that meet every ten kernels, as the layers of a model do. Every
// launch is the same, so what is known of the graph is known since it was instantiated.
//
// usage: graph launch|instantiate [BLOCKS [LAUNCHES [UNTIMED]]]
// prints {"ms": ..., "launches": ...}: the median block, for one launch or instantiation
#include <cuda_runtime.h>

#include <cstring>

#include "steady.h"

namespace {

constexpr int kNodes = 1000;
constexpr int kBuffers = 8;
constexpr int kCount = 256;

__global__ void layer(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = in[i] + 1;
}

void then(cudaStream_t earlier, cudaStream_t later, cudaEvent_t event) {
  MUST(cudaEventRecord(event, earlier) == cudaSuccess);
  MUST(cudaStreamWaitEvent(later, event, 0) == cudaSuccess);
}

cudaGraph_t capture(cudaStream_t stream) {
  float* buffers[kBuffers];
  for (float*& buffer : buffers) MUST(cudaMalloc(&buffer, kCount * sizeof(float)) == cudaSuccess);
  cudaStream_t side;
  cudaEvent_t event;
  MUST(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking) == cudaSuccess);
  MUST(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  for (int i = 0; i < kNodes; i += 10) {
    then(stream, side, event);
    for (int k = 0; k < 10; ++k) {
      const int half = k % 2 * (kBuffers / 2);  // of the buffers: each branch has its own
      const int at = k / 2 % (kBuffers / 2);
      layer<<<1, kCount, 0, k % 2 ? side : stream>>>(buffers[half + at], buffers[half + (at + 1) % (kBuffers / 2)]);
    }
    then(side, stream, event);
  }
  cudaGraph_t graph;
  MUST(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  const bool instantiates = argc > 1 && std::strcmp(argv[1], "instantiate") == 0;
  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  const cudaGraph_t graph = capture(stream);
  cudaGraphExec_t exec;
  if (instantiates) {
    time_steady(Plan(argc - 1, argv + 1, {.blocks = 10, .launches = 20, .untimed = 5}), [&] {
      MUST(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
      MUST(cudaGraphExecDestroy(exec) == cudaSuccess);
    });
  } else {
    MUST(cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess);
    time_steady(Plan(argc > 1 ? argc - 1 : argc, argc > 1 ? argv + 1 : argv,
                     {.blocks = 20, .launches = 500, .untimed = 20}),
                [&] { MUST(cudaGraphLaunch(exec, stream) == cudaSuccess); });
  }
  return 0;
}
