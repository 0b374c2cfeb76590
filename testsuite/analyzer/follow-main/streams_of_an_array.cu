// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// No main(): a caller hands over a list of streams. Two of its entries are two streams, so one scratch buffer for both is
// a conflict. Silent: two entries that the caller chooses, which may be the same one.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <vector>

constexpr size_t kRow = 4096;

__global__ void blur_rows(const float* in, float* scratch) { scratch[threadIdx.x] = in[threadIdx.x] * 0.5f; }
__global__ void blur_columns(const float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x] * 0.5f; }

struct Block {
  float* memory = nullptr;
  cudaEvent_t used = nullptr;
};

// Scratch memory that comes back, to whoever needs no more than that.
class Scratch {
 public:
  ~Scratch() {
    cudaDeviceSynchronize();
    for (const auto& [bytes, block] : free_) cudaFree(block.memory);
  }
  Block take(size_t bytes) {
    Block block;
    const auto found = free_.lower_bound(bytes);
    if (found == free_.end()) {
      cudaMalloc(&block.memory, bytes);
      cudaEventCreateWithFlags(&block.used, cudaEventDisableTiming);
    } else {
      block = found->second;
      free_.erase(found);
    }
    return block;
  }
  void give(const Block& block, size_t bytes) { free_.emplace(bytes, block); }

 private:
  std::multimap<size_t, Block> free_;
};

struct Picture {
  const float* in;
  float* out;
};

// Each picture in the next stream. The scratch memory of one becomes that of the next.
void blur_all(const std::vector<cudaStream_t>& streams, const std::vector<Picture>& pictures) {
  Scratch scratch;
  size_t next = 0;
  for (const Picture& picture : pictures) {
    cudaStream_t stream = streams[next++ % streams.size()];
    const Block block = scratch.take(kRow);
#ifdef FIXED
    cudaStreamWaitEvent(stream, block.used, 0);
#endif
    blur_rows<<<1, 256, 0, stream>>>(picture.in, block.memory);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'blur_rows' on another stream of the caller's may write 'block.memory' while kernel 'blur_columns' on a stream of the caller's still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'block.memory' is read here, on a stream of the caller's
// CHECK-NOTES: :[[@LINE+6]]:5: note: event 'block.used' is recorded here, after the read, but another stream of the caller's does not wait for it
// CHECK-NOTES: :[[@LINE-33]]:7: note: 'block.memory' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:33: note: in the call to 'take' here
// CHECK-NOTES: :[[@LINE-6]]:5: note: let another stream of the caller's wait for event 'block.used' with cudaStreamWaitEvent before kernel 'blur_rows'
// CHECK-NOTES: :[[@LINE-7]]:5: note: a call with arguments that were made up (--dump-ir shows them) was followed to here, with zeros for what the GPU computes
    blur_columns<<<1, 256, 0, stream>>>(block.memory, picture.out);
    cudaEventRecord(block.used, stream);
    scratch.give(block, kRow);
  }
}

// One picture, in two streams that the caller chooses.
void blur_in(const std::vector<cudaStream_t>& streams, size_t i, size_t j, const Picture& picture) {
  Scratch scratch;
  Block block = scratch.take(kRow);
  scratch.give(block, kRow);
  blur_rows<<<1, 256, 0, streams[i]>>>(picture.in, block.memory);
  block = scratch.take(kRow);
  blur_columns<<<1, 256, 0, streams[j]>>>(block.memory, picture.out);
}
