// Stream-ordered scratch memory for the sonar pipeline.
//
// Every stream owns a lane: a list of blocks that were released on it and one event that marks
// the point up to which the lane's blocks may still be in use. Blocks of another lane can be
// taken over, in which case the whole lane is merged so that later requests stay local.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace sonar {

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Block {
  void* ptr = nullptr;
  size_t bytes = 0;
};

class ScratchLanes {
 public:
  ~ScratchLanes() {
    for (auto& [stream, lane] : lanes_) {
      cudaStreamSynchronize(stream);
      cudaEventDestroy(lane.inUse);
    }
    for (const Block& b : owned_) cudaFree(b.ptr);
  }

  Block acquire(size_t bytes, cudaStream_t stream) {
    std::lock_guard<std::mutex> g(mu_);
    Lane& mine = lane(stream);
    Block b;
    if (take(mine, bytes, &b)) return b;
    for (auto& [other, theirs] : lanes_) {
      if (other == stream || !fits(theirs, bytes)) continue;
      stealFrom(theirs, mine, stream);
      take(mine, bytes, &b);
      return b;
    }
    b.bytes = bytes;
    check(cudaMalloc(&b.ptr, bytes));
    owned_.push_back(b);
    return b;
  }

  void release(Block b, cudaStream_t stream) {
    std::lock_guard<std::mutex> g(mu_);
    Lane& mine = lane(stream);
    mine.blocks.push_back(b);
    check(cudaEventRecord(mine.inUse, stream));
  }

 private:
  struct Lane {
    cudaEvent_t inUse = nullptr;
    std::vector<Block> blocks;
  };

  Lane& lane(cudaStream_t stream) {
    Lane& l = lanes_[stream];
    if (!l.inUse) check(cudaEventCreateWithFlags(&l.inUse, cudaEventDisableTiming));
    return l;
  }

  static bool fits(const Lane& l, size_t bytes) {
    for (const Block& b : l.blocks)
      if (b.bytes >= bytes) return true;
    return false;
  }

  static bool take(Lane& l, size_t bytes, Block* out) {
    for (size_t i = 0; i < l.blocks.size(); ++i) {
      if (l.blocks[i].bytes < bytes) continue;
      *out = l.blocks[i];
      l.blocks.erase(l.blocks.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  void stealFrom(Lane& theirs, Lane& mine, cudaStream_t stream) {
    check(cudaStreamWaitEvent(stream, theirs.inUse, 0));
    mine.blocks.insert(mine.blocks.end(), theirs.blocks.begin(), theirs.blocks.end());
    theirs.blocks.clear();
    check(cudaEventRecord(mine.inUse, stream));
  }

  std::mutex mu_;
  std::map<cudaStream_t, Lane> lanes_;
  std::vector<Block> owned_;
};

__global__ void matchedFilter(const float* ping, float* work, float* echo, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  work[i] = ping[i] * 0.5f;
  echo[i] += work[i];
}

__global__ void decayFloor(float* work, float* noise, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  work[i] = noise[i] * 0.98f;
  noise[i] = work[i];
}

// One instance per receiver; the three streams are non-blocking and belong to the caller.
class Receiver {
 public:
  Receiver(ScratchLanes& scratch, int samples) : scratch_(scratch), n_(samples) {}

  void filterPings(const float* ping, float* echo, cudaStream_t s) {
    Block a = scratch_.acquire(bytes(), s);
    Block b = scratch_.acquire(bytes(), s);
    matchedFilter<<<grid(), 256, 0, s>>>(ping, static_cast<float*>(a.ptr), echo, n_);
    matchedFilter<<<grid(), 256, 0, s>>>(ping + n_, static_cast<float*>(b.ptr), echo, n_);
    scratch_.release(a, s);
    scratch_.release(b, s);
  }

  Block beginFloor(float* noise, cudaStream_t s) {
    Block w = scratch_.acquire(bytes(), s);
    decayFloor<<<grid(), 256, 0, s>>>(static_cast<float*>(w.ptr), noise, n_);
    return w;
  }

  void sweep(const float* ping, float* echo, float* noise, float* preview, const cudaStream_t (&s)[3]) {
    filterPings(ping, echo, s[0]);
    Block held = beginFloor(noise, s[1]);
    Block w = scratch_.acquire(bytes(), s[2]);
    check(cudaMemsetAsync(w.ptr, 0, bytes(), s[2]));
    decayFloor<<<grid(), 256, 0, s[2]>>>(static_cast<float*>(w.ptr), preview, n_);
    scratch_.release(w, s[2]);
    scratch_.release(held, s[1]);
  }

 private:
  size_t bytes() const { return static_cast<size_t>(n_) * sizeof(float); }
  int grid() const { return (n_ + 255) / 256; }

  ScratchLanes& scratch_;
  int n_;
};

}  // namespace sonar
