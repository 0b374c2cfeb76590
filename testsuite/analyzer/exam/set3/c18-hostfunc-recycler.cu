// Log shipper: batches are staged in pinned chunks that a host function returns to the free list.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace shipper {

void die(cudaError_t e, const char* where) {
  std::cerr << where << ": " << cudaGetErrorString(e) << std::endl;
  std::exit(EXIT_FAILURE);
}
#define DO(x) do { if (cudaError_t e_ = (x)) ::shipper::die(e_, #x); } while (0)

class ChunkPool {
 public:
  ChunkPool(int count, size_t bytes) : bytes_(bytes) {
    for (int i = 0; i < count; ++i) {
      char* p = nullptr;
      DO(cudaHostAlloc(&p, bytes, cudaHostAllocDefault));
      all_.push_back(p);
      free_.push_back(p);
    }
  }
  ~ChunkPool() {
    for (char* p : all_) cudaFreeHost(p);
  }
  char* take() {
    std::unique_lock<std::mutex> l(m_);
    cv_.wait(l, [this] { return !free_.empty(); });
    char* p = free_.back();
    free_.pop_back();
    return p;
  }
  void give(char* p) {
    {
      std::lock_guard<std::mutex> l(m_);
      free_.push_back(p);
    }
    cv_.notify_one();
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::mutex m_;
  std::condition_variable cv_;
  std::vector<char*> all_, free_;
};

struct Ticket {
  ChunkPool* pool;
  char* chunk;
};

void CUDART_CB recycle(void* p) {
  std::unique_ptr<Ticket> t(static_cast<Ticket*>(p));
  t->pool->give(t->chunk);
}

__global__ void count_newlines(const char* text, int n, unsigned* lines) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && text[i] == '\n') atomicAdd(lines, 1u);
}

class Shipper {
 public:
  explicit Shipper(ChunkPool& pool) : pool_(pool) {
    DO(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DO(cudaMalloc(&text_, pool.bytes()));
    DO(cudaMalloc(&lines_, sizeof(unsigned)));
    DO(cudaMemsetAsync(lines_, 0, sizeof(unsigned), stream_));
  }
  ~Shipper() {
    cudaStreamSynchronize(stream_);
    cudaFree(text_);
    cudaFree(lines_);
    cudaStreamDestroy(stream_);
  }
  void ship(std::string_view batch) {
    char* chunk = pool_.take();
    const size_t n = batch.size() < pool_.bytes() ? batch.size() : pool_.bytes();
    std::memcpy(chunk, batch.data(), n);
    DO(cudaMemcpyAsync(text_, chunk, n, cudaMemcpyHostToDevice, stream_));
    DO(cudaLaunchHostFunc(stream_, recycle, new Ticket{&pool_, chunk}));
    count_newlines<<<unsigned(n / 256 + 1), 256, 0, stream_>>>(text_, int(n), lines_);
    DO(cudaGetLastError());
  }
  unsigned lines() {
    unsigned h = 0;
    DO(cudaMemcpyAsync(&h, lines_, sizeof h, cudaMemcpyDeviceToHost, stream_));
    DO(cudaStreamSynchronize(stream_));
    return h;
  }

 private:
  ChunkPool& pool_;
  cudaStream_t stream_ = nullptr;
  char* text_ = nullptr;
  unsigned* lines_ = nullptr;
};

}  // namespace shipper

int main() {
  shipper::ChunkPool pool(3, 1 << 16);
  shipper::Shipper s(pool);
  std::vector<char> text(1 << 16, 'x');
  for (int i = 0; i < 50; ++i) {
    text[size_t(i) * 100] = '\n';
    s.ship(std::string_view(text.data(), text.size()));
  }
  std::cout << s.lines() << "\n";
}
