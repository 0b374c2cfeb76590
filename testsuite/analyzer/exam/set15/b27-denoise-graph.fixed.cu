// Per-frame denoising for the conference client. The kernel chain of a frame is captured once and replayed for every frame;
// small parameter blocks travel through page-locked memory that all stages of the client borrow from one pool.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#define VC_CHECK(call)                                                                      \
  do {                                                                                      \
    cudaError_t st = (call);                                                                \
    if (st != cudaSuccess) {                                                                \
      std::fprintf(stderr, "%s: %s (line %d)\n", #call, cudaGetErrorString(st), __LINE__);  \
      std::abort();                                                                         \
    }                                                                                       \
  } while (0)

namespace vc {

constexpr std::size_t kStagingBytes = 4096;

class StagingPool {
 public:
  class Lease {
   public:
    Lease() = default;
    Lease(StagingPool* pool, void* ptr) : pool_(pool), ptr_(ptr) {}
    ~Lease() {
      if (ptr_) pool_->put_back(ptr_);
    }
    Lease(Lease&& other) noexcept : pool_(other.pool_), ptr_(std::exchange(other.ptr_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(ptr_, other.ptr_);
      return *this;
    }
    void* get() const { return ptr_; }

   private:
    StagingPool* pool_ = nullptr;
    void* ptr_ = nullptr;
  };

  ~StagingPool() {
    for (void* p : free_) cudaFreeHost(p);
  }

  Lease borrow() {
    if (free_.empty()) {
      void* p = nullptr;
      VC_CHECK(cudaMallocHost(&p, kStagingBytes));
      return Lease(this, p);
    }
    void* p = free_.back();
    free_.pop_back();
    return Lease(this, p);
  }

 private:
  void put_back(void* p) { free_.push_back(p); }
  std::vector<void*> free_;
};

struct FilterWeights {
  float taps[64];
};

__global__ void denoise(const FilterWeights* w, const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < 64; ++t) acc += w->taps[t] * in[(i + t) % n];
  out[i] = acc;
}

class DenoiseGraph {
 public:
  DenoiseGraph(StagingPool& pool, int pixels, cudaStream_t stream) : pixels_(pixels), stream_(stream) {
    VC_CHECK(cudaMalloc(&weights_, sizeof(FilterWeights)));
    VC_CHECK(cudaMalloc(&input_, pixels * sizeof(float)));
    VC_CHECK(cudaMalloc(&output_, pixels * sizeof(float)));
    VC_CHECK(cudaMemsetAsync(input_, 0, pixels * sizeof(float), stream_));
    capture(pool);
  }
  ~DenoiseGraph() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(output_);
    cudaFree(input_);
    cudaFree(weights_);
  }
  DenoiseGraph(const DenoiseGraph&) = delete;
  DenoiseGraph& operator=(const DenoiseGraph&) = delete;

  void process() { VC_CHECK(cudaGraphLaunch(exec_, stream_)); }

 private:
  void capture(StagingPool& pool) {
    staging_ = pool.borrow();
    auto* host = static_cast<FilterWeights*>(staging_.get());
    for (int t = 0; t < 64; ++t) host->taps[t] = 1.f / 64;

    cudaGraph_t graph = nullptr;
    VC_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    VC_CHECK(cudaMemcpyAsync(weights_, host, sizeof(FilterWeights), cudaMemcpyHostToDevice, stream_));
    denoise<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(weights_, input_, output_, pixels_);
    VC_CHECK(cudaStreamEndCapture(stream_, &graph));
    VC_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    VC_CHECK(cudaGraphDestroy(graph));
  }

  int pixels_;
  cudaStream_t stream_;
  FilterWeights* weights_ = nullptr;
  float* input_ = nullptr;
  float* output_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  StagingPool::Lease staging_;  // read by the copy node of every replay
};

// Name plates drawn over the tiles of the participants.
class CaptionOverlay {
 public:
  explicit CaptionOverlay(cudaStream_t stream) : stream_(stream) { VC_CHECK(cudaMalloc(&text_, kStagingBytes)); }
  ~CaptionOverlay() { cudaFree(text_); }

  void set_caption(StagingPool& pool, const char* caption) {
    StagingPool::Lease staging = pool.borrow();
    std::memset(staging.get(), 0, kStagingBytes);
    std::strncpy(static_cast<char*>(staging.get()), caption, kStagingBytes - 1);
    VC_CHECK(cudaMemcpyAsync(text_, staging.get(), kStagingBytes, cudaMemcpyHostToDevice, stream_));
    VC_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  char* text_ = nullptr;
};

}  // namespace vc

int main() {
  cudaStream_t video, overlay;
  VC_CHECK(cudaStreamCreateWithFlags(&video, cudaStreamNonBlocking));
  VC_CHECK(cudaStreamCreateWithFlags(&overlay, cudaStreamNonBlocking));
  {
    vc::StagingPool pool;
    vc::DenoiseGraph graph(pool, 1280 * 720, video);
    vc::CaptionOverlay captions(overlay);
    for (int frame = 0; frame < 300; ++frame) {
      graph.process();
      if (frame % 60 == 0) captions.set_caption(pool, "guest");
    }
    VC_CHECK(cudaStreamSynchronize(video));
  }
  VC_CHECK(cudaStreamDestroy(overlay));
  VC_CHECK(cudaStreamDestroy(video));
  return 0;
}
