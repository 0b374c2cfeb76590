// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A pool that looks for a block that is large enough. Which block comes back is known by following main() alone.
#include <cuda_runtime.h>

#include <map>
#include <string>

__global__ void fill(float* out) { out[threadIdx.x] = 1; }
__global__ void scale(float* inout) { inout[threadIdx.x] *= 2; }

class Pool {
 public:
  float* take(size_t bytes) {
    const auto found = free_.lower_bound(bytes);
    if (found != free_.end()) {
      float* block = found->second;
      sizes_[block] = found->first;
      free_.erase(found);
      return block;
    }
    float* made = nullptr;
    cudaMalloc((void**)&made, bytes);
    sizes_[made] = bytes;
    return made;
  }
  void give(float* block) { free_.emplace(sizes_[block], block); }

 private:
  std::multimap<size_t, float*> free_;
  std::map<float*, size_t> sizes_;
};

int main() {
  std::map<std::string, cudaStream_t> streams;
  for (const char* name : {"copies", "work"}) {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    streams[name] = made;
  }
  Pool pool;
  float* small = pool.take(1024);
  float* large = pool.take(4096);
  fill<<<1, 256, 0, streams["copies"]>>>(large);
#ifdef FIXED
  cudaStreamSynchronize(streams["copies"]);
#endif
  pool.give(large);
  pool.give(small);
  float* again = pool.take(2048);
  scale<<<1, 256, 0, streams["work"]>>>(again);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}
