// Stream-ordered block pool of the baseband receiver. Every stream owns a
// free list; a stream that runs dry takes over the lists of its siblings.
#include <cuda_runtime.h>

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define BB_CHECK(call)                                                          \
  do {                                                                          \
    cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_));    \
  } while (0)

namespace baseband {

struct Block {
  void* ptr;
  size_t bytes;
};

class FramePool {
 public:
  FramePool(size_t blockBytes, int blocks, cudaStream_t home) : blockBytes_(blockBytes) {
    std::lock_guard<std::mutex> lk(mu_);
    auto& mine = listFor(home);
    for (int i = 0; i < blocks; ++i) {
      void* p = nullptr;
      BB_CHECK(cudaMalloc(&p, blockBytes));
      all_.push_back(p);
      mine.blocks.push_back({p, blockBytes});
    }
  }

  ~FramePool() {
    cudaDeviceSynchronize();
    for (auto& kv : lists_) cudaEventDestroy(kv.second.event);
    for (void* p : all_) cudaFree(p);
  }

  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;

  // The block may be used at once by work enqueued in `stream`.
  void* allocate(cudaStream_t stream) {
    std::lock_guard<std::mutex> lk(mu_);
    auto& mine = listFor(stream);
    if (mine.blocks.empty()) mergeLists(stream, mine);
    if (mine.blocks.empty()) throw std::bad_alloc();
    Block b = mine.blocks.front();
    mine.blocks.pop_front();
    return b.ptr;
  }

  // All work on `p` was enqueued in `stream`, or `stream` waits for it.
  void deallocate(void* p, cudaStream_t stream) {
    std::lock_guard<std::mutex> lk(mu_);
    auto& mine = listFor(stream);
    BB_CHECK(cudaEventRecord(mine.event, stream));
    mine.blocks.push_back({p, blockBytes_});
  }

 private:
  struct StreamList {
    std::list<Block> blocks;
    cudaEvent_t event = nullptr;
  };

  StreamList& listFor(cudaStream_t s) {
    auto it = lists_.find(s);
    if (it == lists_.end()) {
      StreamList l;
      BB_CHECK(cudaEventCreateWithFlags(&l.event, cudaEventDisableTiming));
      it = lists_.emplace(s, std::move(l)).first;
    }
    return it->second;
  }

  // Takes the blocks of all other streams over into the list of `stream`.
  void mergeLists(cudaStream_t stream, StreamList& mine) {
    for (auto& [owner, other] : lists_) {
      if (owner == stream || other.blocks.empty()) continue;
      BB_CHECK(cudaStreamWaitEvent(stream, other.event, 0));
      mine.blocks.splice(mine.blocks.end(), other.blocks);
    }
    BB_CHECK(cudaEventRecord(mine.event, stream));
  }

  size_t blockBytes_;
  std::map<cudaStream_t, StreamList> lists_;
  std::vector<void*> all_;
  std::mutex mu_;
};

__global__ void channelize(const short2* iq, float2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float2(iq[i].x * (1.f / 32768), iq[i].y * (1.f / 32768));
}

__global__ void correlate(const float2* in, float* power, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) power[i] += in[i].x * in[i].x + in[i].y * in[i].y;
}

struct Frame {
  const short2* iq;
  float* power;
  int samples;
};

void enqueueFrame(const Frame& f, float2* scratch, cudaStream_t s) {
  const int grid = (f.samples + 255) / 256;
  channelize<<<grid, 256, 0, s>>>(f.iq, scratch, f.samples);
  correlate<<<grid, 256, 0, s>>>(scratch, f.power, f.samples);
  BB_CHECK(cudaGetLastError());
}

float2* frameScratch(FramePool& pool, cudaStream_t s) {
  return static_cast<float2*>(pool.allocate(s));
}

// One slot: two uplink frames, then both polarisations of the downlink, each
// on a stream that lives as long as the receiver. Every frame has its own
// power spectrum; two blocks are enough for a slot.
void processSlot(FramePool& pool, const Frame (&up)[2], const Frame& horizontal,
                 const Frame& vertical, cudaStream_t uplink, cudaStream_t downH,
                 cudaStream_t downV) {
  float2* scratch[2] = {frameScratch(pool, uplink), frameScratch(pool, uplink)};
  for (int i = 0; i < 2; ++i) enqueueFrame(up[i], scratch[i], uplink);
  for (float2* p : scratch) pool.deallocate(p, uplink);

  float2* h = frameScratch(pool, downH);
  float2* v = frameScratch(pool, downV);
  enqueueFrame(horizontal, h, downH);
  enqueueFrame(vertical, v, downV);
  pool.deallocate(h, downH);
  pool.deallocate(v, downV);
}

}  // namespace baseband
