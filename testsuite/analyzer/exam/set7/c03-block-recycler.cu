// Checksums a log stream on the GPU. Host callbacks give the pinned blocks back to the reader.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#define MUST(x)                                                              \
  do {                                                                       \
    cudaError_t e_ = (x);                                                    \
    if (e_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e_));        \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

constexpr int kWords = 1 << 18;

__global__ void checksumWords(const uint32_t* words, int n, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, static_cast<unsigned long long>(words[i]) * (i % 97 + 1));
}

class Recycler;

struct Block {
  Recycler* owner = nullptr;
  uint32_t* words = nullptr;
  unsigned long long* result = nullptr;
  uint32_t* deviceWords = nullptr;
  unsigned long long* deviceResult = nullptr;
};

class Recycler {
 public:
  explicit Recycler(int count) {
    for (int i = 0; i < count; ++i) {
      auto b = std::make_unique<Block>();
      b->owner = this;
      MUST(cudaMallocHost(&b->words, sizeof(uint32_t) * kWords));
      MUST(cudaMallocHost(&b->result, sizeof(unsigned long long)));
      MUST(cudaMalloc(&b->deviceWords, sizeof(uint32_t) * kWords));
      MUST(cudaMalloc(&b->deviceResult, sizeof(unsigned long long)));
      idle_.push_back(b.get());
      all_.push_back(std::move(b));
    }
  }

  // Every block must be at home: call after drain().
  ~Recycler() {
    for (const std::unique_ptr<Block>& b : all_) {
      MUST(cudaFreeHost(b->words));
      MUST(cudaFreeHost(b->result));
      MUST(cudaFree(b->deviceWords));
      MUST(cudaFree(b->deviceResult));
    }
  }
  Recycler(const Recycler&) = delete;
  Recycler& operator=(const Recycler&) = delete;

  Block* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return !idle_.empty(); });
    Block* b = idle_.back();
    idle_.pop_back();
    return b;
  }

  // Blocks until all blocks are back, then tells the total.
  unsigned long long drain() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return idle_.size() == all_.size(); });
    return total_;
  }

  static void CUDART_CB onDone(void* arg) {
    Block* b = static_cast<Block*>(arg);
    b->owner->giveBack(b);
  }

 private:
  void giveBack(Block* b) {
    const std::lock_guard<std::mutex> lock(mutex_);
    total_ += *b->result;
    idle_.push_back(b);
    returned_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Block*> idle_;
  std::vector<std::unique_ptr<Block>> all_;
  unsigned long long total_ = 0;
};

static void readLog(uint32_t* words, int chunk) {
  for (int i = 0; i < kWords; ++i) words[i] = static_cast<uint32_t>(i) * 2246822519u + chunk;
}

static void submit(Block* b, cudaStream_t stream) {
  MUST(cudaMemcpyAsync(b->deviceWords, b->words, sizeof(uint32_t) * kWords, cudaMemcpyHostToDevice, stream));
  MUST(cudaMemsetAsync(b->deviceResult, 0, sizeof(unsigned long long), stream));
  checksumWords<<<(kWords + 255) / 256, 256, 0, stream>>>(b->deviceWords, kWords, b->deviceResult);
  MUST(cudaGetLastError());
  MUST(cudaMemcpyAsync(b->result, b->deviceResult, sizeof(unsigned long long), cudaMemcpyDeviceToHost, stream));
  MUST(cudaLaunchHostFunc(stream, &Recycler::onDone, b));
}

int main(int argc, char** argv) {
  const int chunks = argc > 1 ? std::atoi(argv[1]) : 64;
  cudaStream_t streams[2];
  for (cudaStream_t& s : streams) MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));

  unsigned long long total = 0;
  {
    Recycler recycler(5);
    for (int c = 0; c < chunks; ++c) {
      Block* b = recycler.take();
      readLog(b->words, c);
      submit(b, streams[c % 2]);
    }
    total = recycler.drain();
    for (cudaStream_t s : streams) MUST(cudaStreamSynchronize(s));
  }
  std::printf("%d chunks, checksum %llu\n", chunks, total);
  for (cudaStream_t s : streams) MUST(cudaStreamDestroy(s));
  return 0;
}
