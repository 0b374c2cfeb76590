// Power-market clearing: order books of all zones are concatenated on the device. The inner
// clearing loop is recorded once per auction and replayed.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <vector>

namespace market {

void chk(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class StagingPool {
 public:
  explicit StagingPool(size_t bytes) : bytes_(bytes) {}
  ~StagingPool() {
    for (auto& b : ready_) discard(b);
    for (auto& b : kept_) discard(b);
  }

  struct Block {
    void* host;
    cudaEvent_t idle;
  };

  Block take() {
    if (ready_.empty()) {
      Block b{};
      chk(cudaHostAlloc(&b.host, bytes_, cudaHostAllocDefault));
      chk(cudaEventCreateWithFlags(&b.idle, cudaEventDisableTiming));
      return b;
    }
    Block b = ready_.front();
    ready_.pop_front();
    chk(cudaEventSynchronize(b.idle));
    return b;
  }

  void give(Block b) { ready_.push_front(b); }
  void keep(Block b) { kept_.push_back(b); }

 private:
  static void discard(Block& b) {
    cudaEventDestroy(b.idle);
    cudaFreeHost(b.host);
  }
  size_t bytes_;
  std::deque<Block> ready_;
  std::vector<Block> kept_;
};

// Host array that is visible to kernels of one stream for the lifetime of the scope.
template <typename T>
class StagedArray {
 public:
  StagedArray(StagingPool& pool, T* dev, cudaStream_t stream)
      : pool_(pool), block_(pool.take()), dev_(dev), stream_(stream) {}

  T& operator[](size_t i) { return static_cast<T*>(block_.host)[i]; }

  const T* push(size_t n) {
    chk(cudaMemcpyAsync(dev_, block_.host, n * sizeof(T), cudaMemcpyHostToDevice, stream_));
    return dev_;
  }

  ~StagedArray() {
    cudaStreamCaptureStatus st = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream_, &st);
    if (st != cudaStreamCaptureStatusNone) {
      pool_.keep(block_);
      return;
    }
    cudaEventRecord(block_.idle, stream_);
    pool_.give(block_);
  }

 private:
  StagingPool& pool_;
  StagingPool::Block block_;
  T* dev_;
  cudaStream_t stream_;
};

struct Segment {
  const float* price;
  int count;
  int at;
};

__global__ void concat(const Segment* seg, float* book) {
  Segment s = seg[blockIdx.x];
  for (int i = threadIdx.x; i < s.count; i += blockDim.x) book[s.at + i] = s.price[i];
}

__global__ void clear_step(float* book, int n, float lambda) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) book[i] += lambda * (50.f - book[i]);
}

class Auction {
 public:
  Auction(StagingPool& pool, int capacity) : pool_(pool), capacity_(capacity) {
    chk(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    chk(cudaMalloc(&book_, capacity * sizeof(float)));
    chk(cudaMalloc(&segments_, 256 * sizeof(Segment)));
  }
  ~Auction() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(segments_);
    cudaFree(book_);
    cudaStreamDestroy(stream_);
  }

  void merge(const std::vector<Segment>& zones) {
    StagedArray<Segment> seg(pool_, segments_, stream_);
    for (size_t i = 0; i < zones.size(); ++i) seg[i] = zones[i];
    concat<<<unsigned(zones.size()), 128, 0, stream_>>>(seg.push(zones.size()), book_);
    chk(cudaGetLastError());
  }

  void record(const std::vector<Segment>& zones) {
    cudaGraph_t g = nullptr;
    chk(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    merge(zones);
    clear_step<<<(capacity_ + 255) / 256, 256, 0, stream_>>>(book_, capacity_, 0.2f);
    chk(cudaStreamEndCapture(stream_, &g));
    chk(cudaGraphInstantiate(&exec_, g, 0));
    chk(cudaGraphDestroy(g));
  }

  void replay() { chk(cudaGraphLaunch(exec_, stream_)); }
  void finish() { chk(cudaStreamSynchronize(stream_)); }

 private:
  StagingPool& pool_;
  int capacity_;
  cudaStream_t stream_{};
  float* book_ = nullptr;
  Segment* segments_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

void trading_day(Auction& day_ahead, Auction& intraday, const std::vector<Segment>& a, const std::vector<Segment>& b) {
  day_ahead.record(a);
  for (int hour = 0; hour < 24; ++hour) {
    day_ahead.replay();
    intraday.merge(b);
  }
  day_ahead.finish();
  intraday.finish();
}

}  // namespace market
