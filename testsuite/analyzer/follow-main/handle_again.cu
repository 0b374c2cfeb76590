// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %expect 1 %tidy %s -- %mock | %filecheck %s
//
// cudaStreamDestroy returns at once, and the next stream may get the handle: who keeps memory for each handle then hands
// it out while the work of the stream before is not done. Silent: the stream is waited for before it is destroyed.
#include <cuda_runtime.h>

#include <map>

__global__ void draw(float* frame, int n) {
  if (threadIdx.x < n) frame[threadIdx.x] = 1;
}

class Frames {
 public:
  float* of(cudaStream_t stream) {
    float*& frame = frames_[stream];
    if (frame == nullptr) cudaMalloc(&frame, 256 * sizeof(float));
    return frame;
  }
  ~Frames() {
    cudaDeviceSynchronize();
    for (auto& [stream, frame] : frames_) cudaFree(frame);
  }

 private:
  std::map<cudaStream_t, float*> frames_;
};

void render(Frames& frames) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  draw<<<1, 256, 0, stream>>>(frames.of(stream), 256);  // FIRES: cross-stream-race
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  // CHECK: [[@LINE+1]]:3: note: 'stream (1)' is destroyed here, and 'stream (2)' gets its handle
  cudaStreamDestroy(stream);
}

int main() {
  Frames frames;
  render(frames);
  render(frames);
  // Two streams at a time have two handles.
  cudaDeviceSynchronize();
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  draw<<<1, 256, 0, one>>>(frames.of(one), 256);
  draw<<<1, 256, 0, other>>>(frames.of(other), 256);
}
