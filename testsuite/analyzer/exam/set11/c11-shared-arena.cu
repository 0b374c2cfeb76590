// Device memory for the passes of a gel simulation. Freed blocks are kept per stream; a stream that runs out
// takes over the blocks of another one and is ordered behind that stream's uses.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#define GEL_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void bondForces(const float4* pos, float4* force, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int j = (i + 1) % n;
  force[i] = make_float4(pos[j].x - pos[i].x, pos[j].y - pos[i].y, pos[j].z - pos[i].z, 0.f);
}

__global__ void move(float4* pos, const float4* force, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  pos[i].x += dt * force[i].x;
  pos[i].y += dt * force[i].y;
  pos[i].z += dt * force[i].z;
}

class StreamArena {
 public:
  explicit StreamArena(std::size_t blockBytes) : blockBytes_(blockBytes) {}
  StreamArena(const StreamArena&) = delete;
  ~StreamArena() {
    for (auto& entry : lists_) cudaEventDestroy(entry.second.freed);
    for (void* p : all_) cudaFree(p);
  }

  void* allocate(cudaStream_t stream) {
    FreeList& own = list(stream);
    if (own.blocks.empty()) takeOver(own, stream);
    if (own.blocks.empty()) {
      void* p = nullptr;
      GEL_CHECK(cudaMalloc(&p, blockBytes_));
      all_.push_back(p);
      return p;
    }
    void* p = own.blocks.back();
    own.blocks.pop_back();
    return p;
  }

  // All uses of the block are in `stream` or ordered before what comes next in it.
  void deallocate(void* p, cudaStream_t stream) {
    FreeList& own = list(stream);
    own.blocks.push_back(p);
    GEL_CHECK(cudaEventRecord(own.freed, stream));
  }

 private:
  struct FreeList {
    std::vector<void*> blocks;
    cudaEvent_t freed = nullptr;  // behind the last use of all blocks in the list
  };

  FreeList& list(cudaStream_t stream) {
    auto [it, added] = lists_.try_emplace(stream);
    if (added) GEL_CHECK(cudaEventCreateWithFlags(&it->second.freed, cudaEventDisableTiming));
    return it->second;
  }

  void takeOver(FreeList& own, cudaStream_t stream) {
    for (auto& entry : lists_) {
      FreeList& other = entry.second;
      if (&other == &own || other.blocks.empty()) continue;
      GEL_CHECK(cudaStreamWaitEvent(stream, other.freed, 0));
      own.blocks.swap(other.blocks);
      // A third stream may take them over from here before anything else is freed in `stream`.
      GEL_CHECK(cudaEventRecord(own.freed, stream));
      return;
    }
  }

  std::size_t blockBytes_;
  std::vector<void*> all_;
  std::map<cudaStream_t, FreeList> lists_;
};

class Temporary {
 public:
  Temporary(StreamArena& arena, cudaStream_t stream)
      : arena_(arena), stream_(stream), ptr_(static_cast<float4*>(arena.allocate(stream))) {}
  Temporary(const Temporary&) = delete;
  ~Temporary() { arena_.deallocate(ptr_, stream_); }
  float4* get() const { return ptr_; }

 private:
  StreamArena& arena_;
  cudaStream_t stream_;
  float4* ptr_;
};

class GelStrand {
 public:
  GelStrand(int beads, StreamArena& arena) : beads_(beads), arena_(arena) {
    GEL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GEL_CHECK(cudaMalloc(reinterpret_cast<void**>(&pos_), beads * sizeof(float4)));
    GEL_CHECK(cudaMemsetAsync(pos_, 0, beads * sizeof(float4), stream_));
  }
  GelStrand(const GelStrand&) = delete;
  // The stream is not destroyed here: the arena still knows it.
  ~GelStrand() { cudaFree(pos_); }

  void step(float dt) {
    Temporary force(arena_, stream_);
    bondForces<<<(beads_ + 127) / 128, 128, 0, stream_>>>(pos_, force.get(), beads_);
    move<<<(beads_ + 127) / 128, 128, 0, stream_>>>(pos_, force.get(), beads_, dt);
    GEL_CHECK(cudaGetLastError());
  }

  cudaStream_t stream() const { return stream_; }

 private:
  int beads_;
  StreamArena& arena_;
  cudaStream_t stream_ = nullptr;
  float4* pos_ = nullptr;
};

int main() {
  constexpr int kBeads = 1 << 16;
  std::vector<cudaStream_t> streams;
  {
    StreamArena arena(kBeads * sizeof(float4));
    std::vector<std::unique_ptr<GelStrand>> strands;
    for (int i = 0; i < 6; ++i) strands.push_back(std::make_unique<GelStrand>(kBeads, arena));
    for (int step = 0; step < 200; ++step)
      for (auto& s : strands) s->step(0.01f);
    GEL_CHECK(cudaDeviceSynchronize());
    for (auto& s : strands) streams.push_back(s->stream());
  }
  for (cudaStream_t s : streams) GEL_CHECK(cudaStreamDestroy(s));
  std::puts("200 steps done");
}
