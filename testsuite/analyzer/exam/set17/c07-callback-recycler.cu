// Log shipping to the device.  Page-locked blocks go back to their pool in a host callback
// behind the copy that reads them; producers sleep until a block is free.
#include <cuda_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace logship {

inline void need(cudaError_t rc, int line) {
  if (rc != cudaSuccess) throw std::runtime_error(std::to_string(line) + ": " + cudaGetErrorString(rc));
}
#define NEED(x) ::logship::need((x), __LINE__)

__global__ void countLines(const char* text, int n, unsigned long long* lines) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && text[i] == '\n') atomicAdd(lines, 1ull);
}

class PinnedPool {
 public:
  PinnedPool(std::size_t blocks, std::size_t bytes) : bytes_(bytes) {
    for (std::size_t i = 0; i < blocks; ++i) {
      void* p = nullptr;
      NEED(cudaMallocHost(&p, bytes_));
      all_.push_back(static_cast<char*>(p));
    }
    free_ = all_;
  }
  // All copies are over when the pool goes.
  ~PinnedPool() {
    for (char* p : all_) cudaFreeHost(p);
  }
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  std::size_t blockBytes() const { return bytes_; }

  char* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    available_.wait(lock, [this] { return !free_.empty(); });
    char* p = free_.back();
    free_.pop_back();
    return p;
  }

  void give(char* p) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      free_.push_back(p);
    }
    available_.notify_one();
  }

  // Gives the block back once the work queued on `stream` so far is over.
  void giveAfter(cudaStream_t stream, char* p) {
    auto ticket = std::make_unique<Ticket>(Ticket{this, p});
    NEED(cudaLaunchHostFunc(stream, &PinnedPool::returned, ticket.get()));
    ticket.release();
  }

 private:
  struct Ticket {
    PinnedPool* pool;
    char* block;
  };

  static void CUDART_CB returned(void* data) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(data));
    ticket->pool->give(ticket->block);
  }

  std::size_t bytes_;
  std::mutex mutex_;
  std::condition_variable available_;
  std::vector<char*> all_, free_;
};

// Used by one thread.
class Shipper {
 public:
  explicit Shipper(PinnedPool& pool) : pool_(pool) {
    NEED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    NEED(cudaMalloc(reinterpret_cast<void**>(&text_), pool_.blockBytes()));
    NEED(cudaMalloc(reinterpret_cast<void**>(&lines_), sizeof(unsigned long long)));
    NEED(cudaMemsetAsync(lines_, 0, sizeof(unsigned long long), stream_));
  }
  ~Shipper() {
    cudaStreamSynchronize(stream_);
    cudaFree(lines_);
    cudaFree(text_);
    cudaStreamDestroy(stream_);
  }
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;

  void ship(const std::string& text) {
    for (std::size_t at = 0; at < text.size(); at += pool_.blockBytes()) {
      const std::size_t n = std::min(pool_.blockBytes(), text.size() - at);
      char* block = pool_.take();
      std::memcpy(block, text.data() + at, n);
      NEED(cudaMemcpyAsync(text_, block, n, cudaMemcpyHostToDevice, stream_));
      pool_.giveAfter(stream_, block);
      countLines<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream_>>>(text_, static_cast<int>(n), lines_);
      NEED(cudaGetLastError());
    }
  }

  unsigned long long lines() {
    unsigned long long value = 0;
    NEED(cudaMemcpyAsync(&value, lines_, sizeof(value), cudaMemcpyDeviceToHost, stream_));
    NEED(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  PinnedPool& pool_;
  cudaStream_t stream_ = nullptr;
  char* text_ = nullptr;
  unsigned long long* lines_ = nullptr;
};

std::vector<unsigned long long> shipAll(const std::vector<std::string>& files) {
  PinnedPool pool(4, 1 << 16);
  std::vector<unsigned long long> counts(files.size());
  std::vector<std::thread> threads;
  for (std::size_t f = 0; f < files.size(); ++f) {
    threads.emplace_back([&pool, &files, &counts, f] {
      Shipper shipper(pool);
      shipper.ship(files[f]);
      counts[f] = shipper.lines();
    });
  }
  for (std::thread& t : threads) t.join();
  return counts;
}

}  // namespace logship
