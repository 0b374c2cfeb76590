// Valuation of swap books against a set of yield curves. The intraday revaluation is captured into a graph once
// and replayed on every tick; ad-hoc books are valued eagerly in between.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

namespace curves {

#define VAL_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

constexpr std::size_t kMaxSwaps = 4096;

struct Swap {
  float notional, fixedRate;
  int maturityIndex, curve;
};

__global__ void value(const Swap* swaps, int count, const float* discount, int points, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Swap s = swaps[i];
  const float* d = discount + s.curve * points;
  float annuity = 0.f;
  for (int t = 1; t <= s.maturityIndex; ++t) annuity += d[t];
  out[i] = s.notional * (1.f - d[s.maturityIndex] - s.fixedRate * annuity);
}

// Page-locked blocks for book data. A block that goes back carries an event, and is not given out again
// before the copy that reads it is over.
class StagingPool {
 public:
  StagingPool() = default;
  StagingPool(const StagingPool&) = delete;
  ~StagingPool() {
    for (Block& b : all_) {
      cudaFreeHost(b.data);
      cudaEventDestroy(b.read);
    }
  }

  struct Block {
    Swap* data = nullptr;
    cudaEvent_t read = nullptr;
  };

  Block acquire() {
    if (!idle_.empty()) {
      Block b = idle_.front();
      idle_.pop_front();
      VAL_CHECK(cudaEventSynchronize(b.read));
      return b;
    }
    Block b;
    VAL_CHECK(cudaMallocHost(reinterpret_cast<void**>(&b.data), kMaxSwaps * sizeof(Swap)));
    VAL_CHECK(cudaEventCreateWithFlags(&b.read, cudaEventDisableTiming));
    all_.push_back(b);
    return b;
  }

  void release(const Block& b, cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    VAL_CHECK(cudaStreamIsCapturing(stream, &status));
    // A graph reads the block again on every launch, so that it never goes back.
    if (status != cudaStreamCaptureStatusNone) return;
    VAL_CHECK(cudaEventRecord(b.read, stream));
    idle_.push_back(b);
  }

 private:
  std::vector<Block> all_;
  std::deque<Block> idle_;
};

class BookValuer {
 public:
  BookValuer(const float* discount, int points, StagingPool& staging)
      : discount_(discount), points_(points), staging_(staging) {
    VAL_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    VAL_CHECK(cudaMalloc(reinterpret_cast<void**>(&swaps_), kMaxSwaps * sizeof(Swap)));
  }
  BookValuer(const BookValuer&) = delete;
  ~BookValuer() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(swaps_);
    cudaStreamDestroy(stream_);
  }

  // Values a book now; `out` has room for all swaps. The result is complete when wait() returns.
  void valueOnce(const std::vector<Swap>& book, float* out) { enqueue(book, out); }

  void capture(const std::vector<Swap>& book, float* out) {
    cudaGraph_t graph = nullptr;
    VAL_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    enqueue(book, out);
    VAL_CHECK(cudaStreamEndCapture(stream_, &graph));
    VAL_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    VAL_CHECK(cudaGraphDestroy(graph));
  }

  // Values the captured book against the discount factors of this moment.
  void replay() { VAL_CHECK(cudaGraphLaunch(exec_, stream_)); }

  void wait() { VAL_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  void enqueue(const std::vector<Swap>& book, float* out) {
    const std::size_t n = std::min(book.size(), kMaxSwaps);
    StagingPool::Block block = staging_.acquire();
    std::copy_n(book.begin(), n, block.data);
    VAL_CHECK(cudaMemcpyAsync(swaps_, block.data, n * sizeof(Swap), cudaMemcpyHostToDevice, stream_));
    staging_.release(block, stream_);
    value<<<(n + 127) / 128, 128, 0, stream_>>>(swaps_, static_cast<int>(n), discount_, points_, out);
    VAL_CHECK(cudaGetLastError());
  }

  const float* discount_;
  int points_;
  StagingPool& staging_;
  cudaStream_t stream_ = nullptr;
  Swap* swaps_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// One trading session: the house book on every tick, client books whenever one has been asked for.
void runSession(BookValuer& valuer, const std::vector<Swap>& house, float* houseValues,
                const std::vector<std::vector<Swap>>& clientBooks, float* clientValues) {
  valuer.capture(house, houseValues);
  for (const std::vector<Swap>& book : clientBooks) {
    valuer.replay();
    valuer.valueOnce(book, clientValues);
  }
  valuer.replay();
  valuer.wait();
}

}  // namespace curves
