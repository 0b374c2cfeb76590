// spool-threads: a generator thread fills device buffers on its stream, a
// digest thread consumes them on another one. The buffers circulate through
// two host queues; the host threads never wait for the GPU in the loop.

#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#define SP(call)                                                                   \
  do {                                                                             \
    const cudaError_t rc_ = (call);                                                \
    if (rc_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "spool:%d: %s\n", __LINE__, cudaGetErrorString(rc_));   \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

constexpr int kWords = 1 << 20;

struct Reel {
  std::uint32_t* words = nullptr;
  cudaEvent_t written = nullptr;
  cudaEvent_t read = nullptr;
};

template <typename T>
class Channel {
 public:
  void put(T item) {
    std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(item);
    ready_.notify_one();
  }
  T get() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return !items_.empty(); });
    T item = items_.front();
    items_.pop_front();
    return item;
  }

 private:
  std::deque<T> items_;
  std::mutex mutex_;
  std::condition_variable ready_;
};

__global__ void generate(std::uint32_t* words, std::uint32_t seed) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWords; i += gridDim.x * blockDim.x) {
    std::uint32_t x = seed ^ (static_cast<std::uint32_t>(i) * 2654435761u);
    x ^= x >> 15;
    x *= 2246822519u;
    words[i] = x ^ (x >> 13);
  }
}

__global__ void digest(const std::uint32_t* words, unsigned long long* sum) {
  unsigned long long acc = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWords; i += gridDim.x * blockDim.x) acc += words[i];
  atomicAdd(sum, acc);
}

void generator(Channel<Reel*>& empty, Channel<Reel*>& full, int rounds) {
  cudaStream_t stream;
  SP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int r = 0; r < rounds; ++r) {
    Reel* reel = empty.get();
    SP(cudaStreamWaitEvent(stream, reel->read, 0));
    generate<<<64, 256, 0, stream>>>(reel->words, static_cast<std::uint32_t>(r));
    SP(cudaGetLastError());
    SP(cudaEventRecord(reel->written, stream));
    full.put(reel);
  }
  full.put(nullptr);
  SP(cudaStreamSynchronize(stream));
  SP(cudaStreamDestroy(stream));
}

void digester(Channel<Reel*>& empty, Channel<Reel*>& full, unsigned long long* result) {
  cudaStream_t stream;
  unsigned long long* sum = nullptr;
  SP(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SP(cudaMallocAsync(&sum, sizeof(*sum), stream));
  SP(cudaMemsetAsync(sum, 0, sizeof(*sum), stream));
  while (Reel* reel = full.get()) {
    SP(cudaStreamWaitEvent(stream, reel->written, 0));
    digest<<<64, 256, 0, stream>>>(reel->words, sum);
    SP(cudaGetLastError());
    SP(cudaEventRecord(reel->read, stream));
    empty.put(reel);
  }
  SP(cudaMemcpyAsync(result, sum, sizeof(*sum), cudaMemcpyDeviceToHost, stream));
  SP(cudaFreeAsync(sum, stream));
  SP(cudaStreamSynchronize(stream));
  SP(cudaStreamDestroy(stream));
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 500;
  std::vector<Reel> reels(3);
  Channel<Reel*> empty, full;
  for (Reel& reel : reels) {
    SP(cudaMalloc(&reel.words, kWords * sizeof(std::uint32_t)));
    SP(cudaEventCreateWithFlags(&reel.written, cudaEventDisableTiming));
    SP(cudaEventCreateWithFlags(&reel.read, cudaEventDisableTiming));
    empty.put(&reel);
  }
  unsigned long long result = 0;
  std::thread producer([&] { generator(empty, full, rounds); });
  std::thread consumer([&] { digester(empty, full, &result); });
  producer.join();
  consumer.join();
  std::printf("digest of %d reels: %llu\n", rounds, result);
  for (Reel& reel : reels) {
    SP(cudaEventDestroy(reel.written));
    SP(cudaEventDestroy(reel.read));
    SP(cudaFree(reel.words));
  }
  return 0;
}
