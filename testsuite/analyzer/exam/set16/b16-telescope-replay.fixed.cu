// Adaptive optics: the correction loop of one mirror is captured as a graph and replayed every
// millisecond.  Host staging buffers are leased from a pool of page-locked memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#define TRY(x)                                                                          \
  do {                                                                                  \
    cudaError_t err__ = (x);                                                            \
    if (err__ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s (%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

class PinnedPool {
 public:
  ~PinnedPool() {
    for (auto& b : free_) cudaFreeHost(b.second);
  }

  class Lease {
   public:
    Lease(PinnedPool& pool, size_t bytes) : pool_(&pool), bytes_(bytes), p_(pool.take(bytes)) {}
    Lease(Lease&& o) noexcept : pool_(o.pool_), bytes_(o.bytes_), p_(o.p_) { o.p_ = nullptr; }
    ~Lease() {
      if (p_) pool_->put(bytes_, p_);
    }
    float* data() const { return static_cast<float*>(p_); }

   private:
    PinnedPool* pool_;
    size_t bytes_;
    void* p_;
  };

  Lease lease(size_t floats) { return Lease(*this, floats * sizeof(float)); }

 private:
  void* take(size_t bytes) {
    auto it = free_.lower_bound(bytes);
    if (it != free_.end()) {
      void* p = it->second;
      free_.erase(it);
      return p;
    }
    void* p = nullptr;
    TRY(cudaMallocHost(&p, bytes));
    return p;
  }
  void put(size_t bytes, void* p) { free_.emplace(bytes, p); }

  std::multimap<size_t, void*> free_;
};

__global__ void applyGain(const float* slopes, const float* gain, float* command, int actuators) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < actuators) command[i] = fmaf(gain[i], slopes[i], 0.99f * command[i]);
}

class MirrorLoop {
 public:
  MirrorLoop(PinnedPool& pool, int actuators, cudaStream_t stream) : n_(actuators), stream_(stream), gainStage_(pool.lease(n_)) {
    TRY(cudaMalloc(&slopes_, n_ * sizeof(float)));
    TRY(cudaMalloc(&gain_, n_ * sizeof(float)));
    TRY(cudaMalloc(&command_, n_ * sizeof(float)));
    TRY(cudaMemsetAsync(slopes_, 0, n_ * sizeof(float), stream_));
    TRY(cudaMemsetAsync(command_, 0, n_ * sizeof(float), stream_));
    capture();
  }
  ~MirrorLoop() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(slopes_);
    cudaFree(gain_);
    cudaFree(command_);
  }
  MirrorLoop(const MirrorLoop&) = delete;
  MirrorLoop& operator=(const MirrorLoop&) = delete;

  void setSlopes(const float* pinned) {
    TRY(cudaMemcpyAsync(slopes_, pinned, n_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
  }
  void step() { TRY(cudaGraphLaunch(exec_, stream_)); }

  float firstCommand() {
    float v = 0;
    TRY(cudaMemcpyAsync(&v, command_, sizeof v, cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  void capture() {
    for (int i = 0; i < n_; ++i) gainStage_.data()[i] = 0.4f + 0.1f * (i % 3);

    cudaGraph_t graph;
    TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    TRY(cudaMemcpyAsync(gain_, gainStage_.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    applyGain<<<(n_ + 127) / 128, 128, 0, stream_>>>(slopes_, gain_, command_, n_);
    TRY(cudaStreamEndCapture(stream_, &graph));
    TRY(cudaGraphInstantiate(&exec_, graph, 0));
    TRY(cudaGraphDestroy(graph));
  }

  int n_;
  cudaStream_t stream_;
  PinnedPool::Lease gainStage_;
  cudaGraphExec_t exec_{};
  float *slopes_ = nullptr, *gain_ = nullptr, *command_ = nullptr;
};

int main() {
  const int actuators = 3228;
  cudaStream_t stream;
  TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  PinnedPool pool;
  {
    MirrorLoop mirror(pool, actuators, stream);
    for (int frame = 0; frame < 1000; ++frame) {
      PinnedPool::Lease slopes = pool.lease(actuators);
      for (int i = 0; i < actuators; ++i) slopes.data()[i] = 0.01f * ((frame + i) % 7 - 3);
      mirror.setSlopes(slopes.data());
      mirror.step();
      TRY(cudaStreamSynchronize(stream));
    }
    std::printf("%f\n", mirror.firstCommand());
  }
  TRY(cudaStreamDestroy(stream));
  return 0;
}
