// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A graph is captured with one buffer and given another one before it is launched, by a function of its class.
#include <cuda_runtime.h>

__global__ void encode(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * 2.0f; }

class Encoder {
 public:
  Encoder() {
    cudaMalloc(&front_, 1024);
    cudaMalloc(&back_, 1024);
    cudaMalloc(&out_, 1024);
    cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking);
    cudaGraph_t graph;
    cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal);
    encode<<<1, 256, 0, compute_>>>(front_, out_);
    cudaStreamEndCapture(compute_, &graph);
    size_t one = 1;
    cudaGraphGetNodes(graph, &node_, &one);
    cudaGraphInstantiate(&exec_, graph, 0);
  }
  Encoder(const Encoder&) = delete;

#ifdef FIXED
  void read_from_back() { point_to(back_); }
#endif

  void run(const float* pinned) {
    cudaMemcpyAsync(front_, pinned, 1024, cudaMemcpyHostToDevice, io_);
    cudaGraphLaunch(exec_, compute_);  // FIRES: cross-stream-race
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(io_);
  }

 private:
#ifdef FIXED
  void point_to(float* in) {
    void* arguments[] = {&in, &out_};
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void*>(encode);
    params.kernelParams = arguments;
    cudaGraphExecKernelNodeSetParams(exec_, node_, &params);
  }
#endif
  float *front_, *back_, *out_;
  cudaStream_t compute_, io_;
  cudaGraphNode_t node_;
  cudaGraphExec_t exec_;
};

void serve(const float* pinned) {
  Encoder encoder;
#ifdef FIXED
  encoder.read_from_back();
#endif
  encoder.run(pinned);
}
