// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Structs with a stream, an event and a buffer, put into a vector one by one: they are found by their index later, also
// in another vector that it was copied or moved to.
#include <cuda_runtime.h>

#include <utility>
#include <vector>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

struct Lane {
  cudaStream_t stream;
  cudaEvent_t filled;
  float* buffer;
};

std::vector<Lane> open(int n) {
  std::vector<Lane> lanes;
  for (int i = 0; i < n; ++i) {
    Lane lane;
    cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&lane.filled, cudaEventDisableTiming);
    cudaMalloc(&lane.buffer, 1024);
    lanes.push_back(lane);
  }
  return lanes;
}

void hand_over(Lane& from, Lane& to, float* out) {
  fill<<<1, 256, 0, from.stream>>>(from.buffer);
  cudaEventRecord(from.filled, from.stream);
#ifdef FIXED
  cudaStreamWaitEvent(to.stream, from.filled, 0);
#endif
  use<<<1, 256, 0, to.stream>>>(from.buffer, out);  // FIRES: cross-stream-race
}

void by_index(float* out) {
  std::vector<Lane> lanes = open(2);
  hand_over(lanes[0], lanes[1], out);
}

void copied(float* out) {
  std::vector<Lane> lanes = open(2);
  const std::vector<Lane> copy = lanes;
  fill<<<1, 256, 0, lanes[1].stream>>>(lanes[1].buffer);
#ifdef FIXED
  cudaEventRecord(lanes[1].filled, lanes[1].stream);
  cudaStreamWaitEvent(copy[0].stream, copy[1].filled, 0);
#endif
  use<<<1, 256, 0, copy[0].stream>>>(copy[1].buffer, out);  // FIRES: cross-stream-race
}

class Ring {
 public:
  explicit Ring(std::vector<Lane> lanes) : lanes_(std::move(lanes)) {}
  void turn(float* out) {
    fill<<<1, 256, 0, lanes_[0].stream>>>(lanes_[0].buffer);
#ifdef FIXED
    cudaEventRecord(lanes_[0].filled, lanes_[0].stream);
    cudaStreamWaitEvent(lanes_[1].stream, lanes_[0].filled, 0);
#endif
    use<<<1, 256, 0, lanes_[1].stream>>>(lanes_[0].buffer, out);  // FIRES: cross-stream-race
  }

 private:
  std::vector<Lane> lanes_;
};

void moved(float* out) {
  std::vector<Lane> lanes = open(2);
  Ring ring(std::move(lanes));
  ring.turn(out);
}
