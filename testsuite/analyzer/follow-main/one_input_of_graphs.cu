// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free,host-write-before-done,cross-stream-race %s
//
// Silent: two graphs copy from one pinned block, which is there for both of them. The host writes it again before every
// launch, when the last one is over: each graph gets what was written for it.
#include <cuda_runtime.h>

__global__ void warm(const float* weather, float* map) { map[threadIdx.x] += weather[threadIdx.x]; }
__global__ void cool(const float* weather, float* map) { map[threadIdx.x] -= weather[threadIdx.x]; }

constexpr int kPlaces = 64;

class Forecast {
 public:
  Forecast(float* input, cudaStream_t stream, bool summer) : input_(input), stream_(stream) {
    cudaMalloc(&weather_, kPlaces * sizeof(float));
    cudaMalloc(&map_, kPlaces * sizeof(float));
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    cudaMemcpyAsync(weather_, input_, kPlaces * sizeof(float), cudaMemcpyHostToDevice, stream_);
    if (summer)
      warm<<<1, kPlaces, 0, stream_>>>(weather_, map_);
    else
      cool<<<1, kPlaces, 0, stream_>>>(weather_, map_);
    cudaStreamEndCapture(stream_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
  }
  ~Forecast() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(weather_);
    cudaFree(map_);
  }
  Forecast(const Forecast&) = delete;
  void day(float degrees) {
    for (int i = 0; i < kPlaces; ++i) input_[i] = degrees;
    cudaGraphLaunch(exec_, stream_);
    cudaStreamSynchronize(stream_);
  }

 private:
  float* input_;
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  float *weather_ = nullptr, *map_ = nullptr;
};

int main() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  float* input;
  cudaMallocHost(&input, kPlaces * sizeof(float));
  {
    Forecast summer(input, stream, true), winter(input, stream, false);
    for (int i = 0; i < 6; ++i) {
      summer.day(20.0f + i);
      winter.day(1.0f * i);
    }
  }
  cudaFreeHost(input);
  cudaStreamDestroy(stream);
  return 0;
}
