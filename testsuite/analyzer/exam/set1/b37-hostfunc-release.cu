#include <cuda_runtime.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace log_index {

static void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// A bounded set of pinned blocks; acquire() blocks while all are in use.
class BlockBank {
 public:
  BlockBank(size_t blocks, size_t bytes) : bytes_(bytes), idle_() {
    for (size_t i = 0; i < blocks; ++i) {
      void* p = nullptr;
      check(cudaMallocHost(&p, bytes), "cudaMallocHost");
      all_.push_back(p);
    }
    idle_ = all_;
  }
  ~BlockBank() {
    std::unique_lock<std::mutex> lock(m_);
    cv_.wait(lock, [&] { return idle_.size() == all_.size(); });
    for (void* p : all_) cudaFreeHost(p);
  }
  void* acquire() {
    std::unique_lock<std::mutex> lock(m_);
    cv_.wait(lock, [&] { return !idle_.empty(); });
    void* p = idle_.back();
    idle_.pop_back();
    return p;
  }
  void release(void* p) {
    std::lock_guard<std::mutex> lock(m_);
    idle_.push_back(p);
    cv_.notify_all();
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::vector<void*> all_;
  std::vector<void*> idle_;
  std::mutex m_;
  std::condition_variable cv_;
};

struct ReturnTicket {
  BlockBank* bank;
  void* block;
};

void CUDART_CB give_back(void* arg) {
  auto* t = static_cast<ReturnTicket*>(arg);
  t->bank->release(t->block);
  delete t;
}

__global__ void count_newlines(const char* text, size_t n, unsigned long long* lines) {
  unsigned long long mine = 0;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<size_t>(gridDim.x) * blockDim.x)
    mine += text[i] == '\n';
  atomicAdd(lines, mine);
}

class Uploader {
 public:
  explicit Uploader(BlockBank& bank) : bank_(bank) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&text_, bank.bytes()), "malloc");
  }
  ~Uploader() {
    cudaStreamSynchronize(stream_);
    cudaFree(text_);
    cudaStreamDestroy(stream_);
  }
  Uploader(const Uploader&) = delete;

  // `chunk` may be changed after the call; `lines` is on the device.
  void feed(const char* chunk, size_t n, unsigned long long* lines) {
    if (n == 0 || n > bank_.bytes()) throw std::invalid_argument("chunk size");
    void* block = bank_.acquire();
    std::memcpy(block, chunk, n);
    release_after_use(block);
    check(cudaMemcpyAsync(text_, block, n, cudaMemcpyHostToDevice, stream_), "copy");
    count_newlines<<<64, 256, 0, stream_>>>(text_, n, lines);
    check(cudaGetLastError(), "count_newlines");
  }

 private:
  void release_after_use(void* block) {
    check(cudaLaunchHostFunc(stream_, give_back, new ReturnTicket{&bank_, block}), "host function");
  }

  BlockBank& bank_;
  cudaStream_t stream_ = nullptr;
  char* text_ = nullptr;
};

}  // namespace log_index
