// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// A vector that is filled with push_back() has the elements that were put in, in that order.
#include <cuda_runtime.h>

#include <utility>
#include <vector>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

std::vector<cudaStream_t> open(int n) {
  std::vector<cudaStream_t> made;
  for (int i = 0; i < n; ++i) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    made.push_back(s);
  }
  return made;
}

// All streams write one buffer.
void one_for_all(float* out) {
  std::vector<cudaStream_t> lanes = open(3);
  for (cudaStream_t lane : lanes)
    fill<<<1, 256, 0, lane>>>(out);  // FIRES: cross-stream-race
}

// Each has a buffer of its own.
void one_for_each() {
  std::vector<cudaStream_t> lanes = open(3);
  std::vector<float*> parts;
  for (int i = 0; i < 3; ++i) {
    float* part;
    cudaMalloc(&part, 1024);
    parts.push_back(part);
  }
  for (int i = 0; i < 3; ++i) fill<<<1, 256, 0, lanes[i]>>>(parts[i]);
}

struct Part {
  Part(float* data, int n) : data(data), n(n) {}
  float* data;
  int n;
};

// The last one of a list of objects, which was moved to another.
void last_one(float* out) {
  std::vector<cudaStream_t> lanes = open(2);
  float *first, *second;
  cudaMalloc(&first, 1024);
  cudaMalloc(&second, 1024);
  std::vector<Part> parts;
  parts.emplace_back(first, 256);
  parts.emplace_back(second, 256);
  fill<<<1, 256, 0, lanes[0]>>>(parts[0].data);
  fill<<<1, 256, 0, lanes[0]>>>(parts[1].data);
  std::vector<Part> kept = std::move(parts);
  use<<<1, 256, 0, lanes[1]>>>(kept.back().data, out);  // FIRES: cross-stream-race
}

// Another than the one that was written.
void other_one(float* out) {
  std::vector<cudaStream_t> lanes = open(2);
  float *first, *second;
  cudaMalloc(&first, 1024);
  cudaMalloc(&second, 1024);
  std::vector<Part> parts;
  parts.emplace_back(first, 256);
  parts.emplace_back(second, 256);
  fill<<<1, 256, 0, lanes[0]>>>(parts.back().data);
  parts.pop_back();
  use<<<1, 256, 0, lanes[1]>>>(parts.back().data, out);
}

// What is where after that is not known.
void rearranged(float* out) {
  std::vector<cudaStream_t> lanes = open(2);
  float *first, *second;
  cudaMalloc(&first, 1024);
  cudaMalloc(&second, 1024);
  std::vector<float*> parts;
  parts.push_back(first);
  parts.push_back(second);
  fill<<<1, 256, 0, lanes[0]>>>(parts[0]);
  parts.erase(parts.begin());
  use<<<1, 256, 0, lanes[1]>>>(parts[0], out);
}
