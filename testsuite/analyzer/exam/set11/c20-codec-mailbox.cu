// Run-length statistics of data blocks, for choosing a codec. The device works ahead; a writer thread gets the
// results through a mailbox that the stream itself fills.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define RLE_CHECK(expr)                                                                           \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct RunStats {
  unsigned runs;
  unsigned zeros;
};

__global__ void fillBlock(std::uint8_t* block, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) block[i] = static_cast<std::uint8_t>(((i / 13u) * seed) & 7u);
}

__global__ void countRuns(const std::uint8_t* block, int n, RunStats* stats) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 || block[i] != block[i - 1]) atomicAdd(&stats->runs, 1u);
}

__global__ void countZeros(const std::uint8_t* block, int n, RunStats* stats) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && block[i] == 0) atomicAdd(&stats->zeros, 1u);
}

// Results in page-locked memory, handed from the stream's host function to the writer.
class Mailbox {
 public:
  void post(RunStats* s) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ready_.push_back(s);
    }
    arrived_.notify_one();
  }
  RunStats* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait(lock, [this] { return !ready_.empty(); });
    RunStats* s = ready_.front();
    ready_.pop_front();
    return s;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<RunStats*> ready_;
};

struct Letter {
  Mailbox* box;
  RunStats* stats;
};

void deliver(void* p) {
  std::unique_ptr<Letter> letter(static_cast<Letter*>(p));
  letter->box->post(letter->stats);
}

class BlockAnalyser {
 public:
  BlockAnalyser(Mailbox& box, int blocks) : box_(box) {
    RLE_CHECK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    RLE_CHECK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    RLE_CHECK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    RLE_CHECK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    RLE_CHECK(cudaMallocHost(reinterpret_cast<void**>(&results_), blocks * sizeof(RunStats)));
  }
  BlockAnalyser(const BlockAnalyser&) = delete;
  // The results go with the analyser: the writer has to be done.
  ~BlockAnalyser() {
    cudaStreamSynchronize(main_);
    cudaStreamSynchronize(side_);
    cudaFreeHost(results_);
    cudaEventDestroy(fork_);
    cudaEventDestroy(join_);
    cudaStreamDestroy(main_);
    cudaStreamDestroy(side_);
  }

  void analyse(int index, int bytes) {
    std::uint8_t* block = nullptr;
    RunStats* stats = nullptr;
    RLE_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&block), bytes, main_));
    RLE_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&stats), sizeof(RunStats), main_));
    RLE_CHECK(cudaMemsetAsync(stats, 0, sizeof(RunStats), main_));
    const int grid = (bytes + 255) / 256;
    fillBlock<<<grid, 256, 0, main_>>>(block, bytes, static_cast<unsigned>(index + 1));
    RLE_CHECK(cudaEventRecord(fork_, main_));
    RLE_CHECK(cudaStreamWaitEvent(side_, fork_, 0));
    countRuns<<<grid, 256, 0, main_>>>(block, bytes, stats);
    countZeros<<<grid, 256, 0, side_>>>(block, bytes, stats);
    RLE_CHECK(cudaGetLastError());
    RLE_CHECK(cudaEventRecord(join_, side_));
    RLE_CHECK(cudaStreamWaitEvent(main_, join_, 0));
    publish(index, stats);
    RLE_CHECK(cudaFreeAsync(block, main_));
    RLE_CHECK(cudaFreeAsync(stats, main_));
  }

 private:
  void publish(int index, const RunStats* stats) {
    RunStats* host = results_ + index;
    RLE_CHECK(cudaMemcpyAsync(host, stats, sizeof(RunStats), cudaMemcpyDeviceToHost, main_));
    RLE_CHECK(cudaLaunchHostFunc(main_, deliver, new Letter{&box_, host}));
  }

  Mailbox& box_;
  cudaStream_t main_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaEvent_t fork_ = nullptr;
  cudaEvent_t join_ = nullptr;
  RunStats* results_ = nullptr;
};

int main() {
  constexpr int kBlocks = 200, kBytes = 1 << 20;
  Mailbox box;
  BlockAnalyser analyser(box, kBlocks);
  std::thread writer([&box] {
    unsigned long long runs = 0, zeros = 0;
    for (int i = 0; i < kBlocks; ++i) {
      const RunStats* s = box.take();
      runs += s->runs;
      zeros += s->zeros;
    }
    std::printf("%llu runs, %llu zeros\n", runs, zeros);
  });
  for (int i = 0; i < kBlocks; ++i) analyser.analyse(i, kBytes);
  writer.join();
}
