// Log records go to the device through page-locked chunks that return to their pool by a host
// function at the end of the copy.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define LOG_CHECK(call)                                                             \
  do {                                                                              \
    const cudaError_t e_ = (call);                                                  \
    if (e_ != cudaSuccess)                                                          \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));   \
  } while (0)

namespace logscan {

__global__ void countByte(const char* text, size_t n, char wanted, unsigned long long* hits) {
  unsigned long long c = 0;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    c += text[i] == wanted;
  if (c) atomicAdd(hits, c);
}

class ChunkPool {
 public:
  ChunkPool(int chunks, size_t bytes) : bytes_(bytes), slab_(nullptr, cudaFreeHost) {
    void* p = nullptr;
    LOG_CHECK(cudaMallocHost(&p, chunks * bytes));
    slab_.reset(p);
    for (int i = 0; i < chunks; ++i) free_.push_back(static_cast<char*>(p) + i * bytes);
  }
  // Blocks until a chunk is free.
  char* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    available_.wait(lock, [this] { return !free_.empty(); });
    char* c = free_.back();
    free_.pop_back();
    return c;
  }
  void give(char* chunk) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      free_.push_back(chunk);
    }
    available_.notify_one();
  }
  size_t chunkBytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::unique_ptr<void, cudaError_t (*)(void*)> slab_;
  std::mutex mutex_;
  std::condition_variable available_;
  std::vector<char*> free_;
};

// Gives a chunk back from the stream. The ticket belongs to the callback once it is enqueued.
class ReturnTicket {
 public:
  static void enqueue(ChunkPool& pool, char* chunk, cudaStream_t stream) {
    auto ticket = std::unique_ptr<ReturnTicket>(new ReturnTicket{pool, chunk});
    LOG_CHECK(cudaLaunchHostFunc(stream, &ReturnTicket::redeem, ticket.get()));
    ticket.release();
  }

 private:
  ReturnTicket(ChunkPool& pool, char* chunk) : pool_(pool), chunk_(chunk) {}
  static void CUDART_CB redeem(void* self) {
    std::unique_ptr<ReturnTicket> t(static_cast<ReturnTicket*>(self));
    t->pool_.give(t->chunk_);
  }
  ChunkPool& pool_;
  char* chunk_;
};

class Scanner {
 public:
  explicit Scanner(ChunkPool& pool) : pool_(pool) {
    LOG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LOG_CHECK(cudaMalloc(reinterpret_cast<void**>(&text_), pool_.chunkBytes()));
    LOG_CHECK(cudaMalloc(reinterpret_cast<void**>(&hits_), sizeof(*hits_)));
    LOG_CHECK(cudaMemsetAsync(hits_, 0, sizeof(*hits_), stream_));
  }
  Scanner(const Scanner&) = delete;
  ~Scanner() {
    cudaStreamSynchronize(stream_);  // also runs the last callbacks, which use the pool
    cudaFree(text_);
    cudaFree(hits_);
    cudaStreamDestroy(stream_);
  }

  void feed(std::string_view text, char wanted) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, pool_.chunkBytes());
      text.remove_prefix(part.size());
      char* chunk = pool_.take();
      std::memcpy(chunk, part.data(), part.size());
      LOG_CHECK(cudaMemcpyAsync(text_, chunk, part.size(), cudaMemcpyHostToDevice, stream_));
      ReturnTicket::enqueue(pool_, chunk, stream_);
      countByte<<<128, 256, 0, stream_>>>(text_, part.size(), wanted, hits_);
      LOG_CHECK(cudaGetLastError());
    }
  }

  unsigned long long total() {
    unsigned long long host = 0;
    LOG_CHECK(cudaMemcpyAsync(&host, hits_, sizeof(host), cudaMemcpyDeviceToHost, stream_));
    LOG_CHECK(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  ChunkPool& pool_;
  cudaStream_t stream_ = nullptr;
  char* text_ = nullptr;
  unsigned long long* hits_ = nullptr;
};

}  // namespace logscan
