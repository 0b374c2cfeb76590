// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check capture-unsafe-call %s
// RUN: %check capture-unsafe-call %s -- -DFIXED
//
// A relaxed capture may allocate, and fill what it allocates: the graph reads it whenever it is launched. What was there
// before the capture is filled only once, too, which is hardly meant; and beside a blocking stream nothing may be copied.
#include <cuda_runtime.h>

__global__ void multiply(const float* weights, float* x) { x[threadIdx.x] *= weights[threadIdx.x]; }

class Layer {
 public:
  explicit Layer(const float* trained) : trained_(trained) {}
  void run(float* x, cudaStream_t stream) {
    if (weights_ == nullptr) {
      cudaMalloc(&weights_, 1024);
      cudaMemcpy(weights_, trained_, 1024, cudaMemcpyHostToDevice);
    }
    multiply<<<1, 256, 0, stream>>>(weights_, x);
  }

 private:
  const float* trained_;
  float* weights_ = nullptr;
};

cudaGraph_t of_layers(const float* first, const float* second, float* x) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraph_t graph;
  static Layer a(first), b(second);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  a.run(x, stream);
  b.run(x, stream);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

cudaGraph_t of_weights(const float* trained, const float* input, float* x) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaGraph_t graph;
  float *weights, *bias;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaMalloc(&weights, 1024);
  cudaMalloc(&bias, 1024);
  cudaMemcpy(weights, trained, 1024, cudaMemcpyHostToDevice);
  cudaMemset(bias, 0, 1024);
#ifdef FIXED
  cudaMemcpyAsync(x, input, 1024, cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpy(x, input, 1024, cudaMemcpyHostToDevice);  // FIRES: capture-unsafe-call
#endif
  multiply<<<1, 256, 0, stream>>>(weights, x);
  multiply<<<1, 256, 0, stream>>>(bias, x);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

cudaGraph_t beside_blocking(const float* trained, float* x) {
  cudaStream_t stream;
#ifdef FIXED
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
#else
  cudaStreamCreate(&stream);
#endif
  cudaGraph_t graph;
  float* weights;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaMalloc(&weights, 1024);
  cudaMemcpy(weights, trained, 1024, cudaMemcpyHostToDevice);  // FIRES: capture-unsafe-call
  multiply<<<1, 256, 0, stream>>>(weights, x);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}
