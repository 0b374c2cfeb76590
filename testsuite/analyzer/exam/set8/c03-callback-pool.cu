// Upload pool for a price feed: pinned blocks find their way back to the pool through a host function
// that is queued behind the copy.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace feed {

inline void ensure(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Tick {
  int instrument;
  float bid, ask;
};

class UploadPool {
 public:
  UploadPool(int blocks, size_t blockBytes) : blockBytes_(blockBytes) {
    for (int i = 0; i < blocks; ++i) {
      void* p = nullptr;
      ensure(cudaHostAlloc(&p, blockBytes, cudaHostAllocPortable));
      all_.push_back(p);
    }
    free_ = all_;
  }
  // Waits until every block has come home.
  ~UploadPool() {
    std::unique_lock<std::mutex> lock(mu_);
    home_.wait(lock, [this] { return free_.size() == all_.size(); });
    for (void* p : all_) cudaFreeHost(p);
  }
  UploadPool(const UploadPool&) = delete;
  UploadPool& operator=(const UploadPool&) = delete;

  size_t blockBytes() const { return blockBytes_; }

  // Queues the copy on `stream`. `src` may be changed as soon as the call returns.
  void upload(void* dst, const void* src, size_t bytes, cudaStream_t stream) {
    const char* from = static_cast<const char*>(src);
    char* to = static_cast<char*>(dst);
    while (bytes > 0) {
      const size_t n = bytes < blockBytes_ ? bytes : blockBytes_;
      void* block = take();
      std::memcpy(block, from, n);
      ensure(cudaMemcpyAsync(to, block, n, cudaMemcpyHostToDevice, stream));
      auto ticket = std::make_unique<Ticket>(Ticket{this, block});
      ensure(cudaLaunchHostFunc(stream, &UploadPool::comeHome, ticket.get()));
      ticket.release();
      from += n;
      to += n;
      bytes -= n;
    }
  }

 private:
  struct Ticket {
    UploadPool* pool;
    void* block;
  };

  static void CUDART_CB comeHome(void* arg) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(arg));
    std::lock_guard<std::mutex> lock(ticket->pool->mu_);
    ticket->pool->free_.push_back(ticket->block);
    ticket->pool->home_.notify_all();
  }

  void* take() {
    std::unique_lock<std::mutex> lock(mu_);
    home_.wait(lock, [this] { return !free_.empty(); });
    void* p = free_.back();
    free_.pop_back();
    return p;
  }

  size_t blockBytes_;
  std::mutex mu_;
  std::condition_variable home_;
  std::vector<void*> all_, free_;
};

__global__ void applyTicks(const Tick* ticks, float2* book, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) book[ticks[i].instrument] = make_float2(ticks[i].bid, ticks[i].ask);
}

__global__ void spreads(const float2* book, float* spread, int instruments) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < instruments) spread[i] = book[i].y - book[i].x;
}

// The ticks of a batch have distinct instruments.
class Book {
 public:
  Book(UploadPool& pool, int instruments, size_t maxTicks) : pool_(pool), instruments_(instruments), maxTicks_(maxTicks) {
    ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ensure(cudaMallocAsync(reinterpret_cast<void**>(&ticks_), maxTicks * sizeof(Tick), stream_));
    ensure(cudaMallocAsync(reinterpret_cast<void**>(&book_), instruments * sizeof(float2), stream_));
    ensure(cudaMallocAsync(reinterpret_cast<void**>(&spread_), instruments * sizeof(float), stream_));
    ensure(cudaMemsetAsync(book_, 0, instruments * sizeof(float2), stream_));
  }
  ~Book() {
    cudaFreeAsync(ticks_, stream_);
    cudaFreeAsync(book_, stream_);
    cudaFreeAsync(spread_, stream_);
    cudaStreamDestroy(stream_);
  }
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  void apply(const std::vector<Tick>& batch) {
    if (batch.empty()) return;
    if (batch.size() > maxTicks_) throw std::length_error("batch too large");
    const int n = static_cast<int>(batch.size());
    pool_.upload(ticks_, batch.data(), batch.size() * sizeof(Tick), stream_);
    applyTicks<<<(n + 127) / 128, 128, 0, stream_>>>(ticks_, book_, n);
  }

  std::vector<float> currentSpreads() {
    std::vector<float> host(instruments_);
    spreads<<<(instruments_ + 127) / 128, 128, 0, stream_>>>(book_, spread_, instruments_);
    ensure(cudaMemcpyAsync(host.data(), spread_, instruments_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ensure(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  UploadPool& pool_;
  int instruments_;
  size_t maxTicks_;
  cudaStream_t stream_ = nullptr;
  Tick* ticks_ = nullptr;
  float2* book_ = nullptr;
  float* spread_ = nullptr;
};

}  // namespace feed
