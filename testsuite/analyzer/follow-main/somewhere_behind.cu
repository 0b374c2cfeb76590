// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
//
// Which elements a kernel gathers is not known, but all of them lie in the table: a copy of the whole table meets them.
// The settings that every thread reads are one struct: where its fields are is known.
#include <cuda_runtime.h>

#include <map>
#include <string>
#include <vector>

struct Settings {
  int rounds;
  float rate;
  int launches;
};

__global__ void gather(const float* table, const int* index, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[index[i]];
}

__global__ void relax(const Settings* settings, float* values) {
  float value = values[threadIdx.x];
  for (int round = 0; round < settings->rounds; ++round) value *= settings->rate;
  values[threadIdx.x] = value;
}

using Buffers = std::map<std::string, float*>;

void look_up(Buffers& buffers, cudaStream_t work, cudaStream_t copies) {
  constexpr size_t kRows = 1024;
  float* next;
  int* index;
  cudaEvent_t looked_up;
  cudaMalloc(&buffers["table"], kRows * sizeof(float));
  cudaMalloc(&buffers["out"], 256 * sizeof(float));
  cudaMalloc(&index, 256 * sizeof(int));
  cudaMallocHost(&next, kRows * sizeof(float));
  cudaEventCreateWithFlags(&looked_up, cudaEventDisableTiming);
  gather<<<1, 256, 0, work>>>(buffers["table"], index, buffers["out"]);
  cudaEventRecord(looked_up, work);
#ifdef FIXED
  cudaStreamWaitEvent(copies, looked_up, 0);
#endif
  const size_t bytes = kRows * sizeof(float);
  cudaMemcpyAsync(buffers["table"], next, bytes, cudaMemcpyHostToDevice, copies);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void cool_down(Buffers& buffers, cudaStream_t work) {
  std::map<std::string, Settings*> settings;
  cudaMallocManaged(&settings["slow"], sizeof(Settings));
  cudaMalloc(&buffers["values"], 256 * sizeof(float));
  *settings["slow"] = {8, 0.5f, 0};
  relax<<<1, 256, 0, work>>>(settings["slow"], buffers["values"]);
  settings["slow"]->launches = 1;  // of no interest to the kernel
#ifdef FIXED
  cudaStreamSynchronize(work);
#endif
  settings["slow"]->rate = 0.25f;  // FIRES: host-write-before-done
  relax<<<1, 256, 0, work>>>(settings["slow"], buffers["values"]);
  cudaDeviceSynchronize();
}

int main() {
  std::vector<cudaStream_t> streams(2);
  for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  Buffers buffers;
  look_up(buffers, streams[0], streams[1]);
  cool_down(buffers, streams[0]);
}
