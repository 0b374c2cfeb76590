// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
//
// Which elements a kernel gathers is not known, but all of them lie in the table: a copy of the whole table meets them.
// Every thread reads one field of the settings, in a loop: which one is known.
#include <cuda_runtime.h>

#include <map>
#include <vector>

struct Settings {
  float rate;
  int launches;
};

__global__ void gather(const float* table, const int* index, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[index[i]];
}

__global__ void relax(const Settings* settings, float* values, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] *= settings->rate;
}

// The smallest that is large enough: which one that is, following main() alone tells.
template <typename T>
T* fitting(const std::map<size_t, T*>& blocks, size_t bytes) {
  return blocks.lower_bound(bytes)->second;
}

void look_up(cudaStream_t work, cudaStream_t copies) {
  std::map<size_t, float*> tables;
  float *out, *next;
  int* index;
  cudaEvent_t looked_up;
  for (const size_t bytes : {1024, 4096}) cudaMalloc(&tables[bytes], bytes);
  cudaMalloc(&out, 1024);
  cudaMalloc(&index, 1024);
  cudaMallocHost(&next, 4096);
  cudaEventCreateWithFlags(&looked_up, cudaEventDisableTiming);
  gather<<<1, 256, 0, work>>>(fitting(tables, 3000), index, out);
  cudaEventRecord(looked_up, work);
#ifdef FIXED
  cudaStreamWaitEvent(copies, looked_up, 0);
#endif
  cudaMemcpyAsync(fitting(tables, 4096), next, 4096, cudaMemcpyHostToDevice, copies);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

void cool_down(cudaStream_t work) {
  std::map<size_t, Settings*> kept;
  float* values;
  cudaMallocManaged(&kept[64], 64);
  cudaMalloc(&values, 1024);
  *kept[64] = {0.5f, 0};
  relax<<<1, 256, 0, work>>>(fitting(kept, 8), values, 256);
  fitting(kept, 9)->launches = 1;  // the kernel does not read that
#ifdef FIXED
  cudaStreamSynchronize(work);
#endif
  fitting(kept, 9)->rate = 0.25f;  // FIRES: host-write-before-done
  relax<<<1, 256, 0, work>>>(fitting(kept, 8), values, 256);
  cudaDeviceSynchronize();
}

int main() {
  std::vector<cudaStream_t> streams(2);
  for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  look_up(streams[0], streams[1]);
  cool_down(streams[0]);
}
