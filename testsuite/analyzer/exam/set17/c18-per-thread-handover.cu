// A reader thread and an analysis thread, each on its own per-thread stream, that pass device
// blocks to each other, with events, through channels.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define PT_CHECK(call)                                                        \
  do {                                                                        \
    const cudaError_t e_ = (call);                                            \
    if (e_ != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));        \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

namespace handover {

constexpr int kCells = 1 << 20;

__global__ void synthesize(float* out, int n, int epoch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = float((i * 2654435761u + epoch) >> 24) * (1.f / 256.f);
}

__global__ void histogram(const float* in, int n, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[min(int(in[i] * 16.f), 15)], 1u);
}

// A device block; `ready` is recorded behind the last thing that its previous owner has enqueued.
struct Block {
  float* data = nullptr;
  cudaEvent_t ready = nullptr;

  Block() {
    PT_CHECK(cudaMalloc(reinterpret_cast<void**>(&data), kCells * sizeof(float)));
    PT_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  }
  Block(const Block&) = delete;
  ~Block() {
    cudaEventSynchronize(ready);
    cudaEventDestroy(ready);
    cudaFree(data);
  }
  void receive() const { PT_CHECK(cudaStreamWaitEvent(cudaStreamPerThread, ready, 0)); }
  void release() const { PT_CHECK(cudaEventRecord(ready, cudaStreamPerThread)); }
};
using BlockPtr = std::unique_ptr<Block>;

class Channel {
 public:
  void send(BlockPtr b) {
    b->release();
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(b));
    filled_.notify_one();
  }
  BlockPtr receive() {
    std::unique_lock<std::mutex> lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return nullptr;
    BlockPtr b = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    b->receive();
    return b;
  }
  void close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    filled_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<BlockPtr> queue_;
  bool closed_ = false;
};

void produce(Channel& empty, Channel& full, int epochs) {
  for (int e = 0; e < epochs; ++e) {
    BlockPtr b = empty.receive();
    if (!b) break;
    synthesize<<<(kCells + 255) / 256, 256, 0, cudaStreamPerThread>>>(b->data, kCells, e);
    PT_CHECK(cudaGetLastError());
    full.send(std::move(b));
  }
  full.close();
  PT_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

std::vector<unsigned> consume(Channel& full, Channel& empty) {
  unsigned* bins = nullptr;
  PT_CHECK(cudaMalloc(reinterpret_cast<void**>(&bins), 16 * sizeof(unsigned)));
  PT_CHECK(cudaMemsetAsync(bins, 0, 16 * sizeof(unsigned), cudaStreamPerThread));
  while (BlockPtr b = full.receive()) {
    histogram<<<(kCells + 255) / 256, 256, 0, cudaStreamPerThread>>>(b->data, kCells, bins);
    PT_CHECK(cudaGetLastError());
    empty.send(std::move(b));
  }
  std::vector<unsigned> out(16);
  PT_CHECK(cudaMemcpyAsync(out.data(), bins, 16 * sizeof(unsigned), cudaMemcpyDeviceToHost,
                           cudaStreamPerThread));
  PT_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  PT_CHECK(cudaFree(bins));
  return out;
}

}  // namespace handover

int main() {
  handover::Channel empty, full;
  for (int i = 0; i < 3; ++i) empty.send(std::make_unique<handover::Block>());
  std::future<std::vector<unsigned>> bins =
      std::async(std::launch::async, handover::consume, std::ref(full), std::ref(empty));
  std::thread producer(handover::produce, std::ref(empty), std::ref(full), 200);
  producer.join();
  for (unsigned b : bins.get()) std::printf("%u\n", b);
  return 0;
}
