// Order-book replay: worker threads rebuild the books of their symbols on per-thread default
// streams, the main thread aggregates them. Workers hand over events, not results.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <vector>

#define OB_CHECK(call)                                                                  \
  do {                                                                                  \
    const cudaError_t ob_rc = (call);                                                   \
    if (ob_rc != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(ob_rc)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

namespace books {

constexpr int kLevels = 512;

struct Update {
  int level;
  float quantity;
};

__global__ void apply(const Update* __restrict__ updates, int n, float* __restrict__ book) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&book[updates[i].level], updates[i].quantity);
}

__global__ void aggregate(const float* __restrict__ all, int symbols, float* __restrict__ depth) {
  const int l = blockIdx.x * blockDim.x + threadIdx.x;
  if (l >= kLevels) return;
  float sum = 0.f;
  for (int s = 0; s < symbols; ++s) sum += all[s * kLevels + l];
  depth[l] = sum;
}

class Done {
 public:
  Done() { OB_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Done() {
    if (event_) cudaEventDestroy(event_);
  }
  Done(Done&& o) noexcept : event_(o.event_) { o.event_ = nullptr; }
  Done& operator=(Done&&) = delete;
  void record(cudaStream_t s) const { OB_CHECK(cudaEventRecord(event_, s)); }
  void block(cudaStream_t s) const { OB_CHECK(cudaStreamWaitEvent(s, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Replay {
 public:
  Replay(int symbols, int updates) : symbols_(symbols), updates_(updates) {
    const std::size_t n = static_cast<std::size_t>(symbols) * updates;
    OB_CHECK(cudaMallocHost(&feed_, n * sizeof(Update)));
    OB_CHECK(cudaMalloc(&feed_dev_, n * sizeof(Update)));
    OB_CHECK(cudaMalloc(&books_, sizeof(float) * symbols * kLevels));
    OB_CHECK(cudaMalloc(&depth_, sizeof(float) * kLevels));
    OB_CHECK(cudaMemsetAsync(books_, 0, sizeof(float) * symbols * kLevels, cudaStreamPerThread));
    OB_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  }
  ~Replay() {
    cudaDeviceSynchronize();
    cudaFree(depth_);
    cudaFree(books_);
    cudaFree(feed_dev_);
    cudaFreeHost(feed_);
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // To be filled before run().
  Update* feed(int symbol) { return feed_ + static_cast<std::size_t>(symbol) * updates_; }

  std::vector<float> run(int workers) {
    std::vector<std::future<Done>> handed_over;
    const int share = (symbols_ + workers - 1) / workers;
    for (int w = 0; w < workers; ++w) {
      const int first = std::min(symbols_, w * share), last = std::min(symbols_, first + share);
      handed_over.push_back(std::async(std::launch::async, [=] { return rebuild(first, last); }));
    }
    std::vector<Done> rebuilt;
    for (auto& f : handed_over) {
      rebuilt.push_back(f.get());
      rebuilt.back().block(cudaStreamPerThread);
    }
    aggregate<<<kLevels / 128, 128, 0, cudaStreamPerThread>>>(books_, symbols_, depth_);
    OB_CHECK(cudaGetLastError());
    std::vector<float> depth(kLevels);
    OB_CHECK(cudaMemcpyAsync(depth.data(), depth_, sizeof(float) * kLevels, cudaMemcpyDeviceToHost,
                             cudaStreamPerThread));
    OB_CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    return depth;
  }

 private:
  Done rebuild(int first, int last) const {
    OB_CHECK(cudaSetDevice(0));
    for (int s = first; s < last; ++s) {
      const std::size_t at = static_cast<std::size_t>(s) * updates_;
      OB_CHECK(cudaMemcpyAsync(feed_dev_ + at, feed_ + at, updates_ * sizeof(Update),
                               cudaMemcpyHostToDevice, cudaStreamPerThread));
      apply<<<1, 256, 0, cudaStreamPerThread>>>(feed_dev_ + at, updates_, books_ + s * kLevels);
    }
    OB_CHECK(cudaGetLastError());
    Done done;
    done.record(cudaStreamPerThread);
    return done;
  }

  int symbols_;
  int updates_;
  Update* feed_ = nullptr;
  Update* feed_dev_ = nullptr;
  float* books_ = nullptr;
  float* depth_ = nullptr;
};

}  // namespace books

int main() {
  constexpr int symbols = 48, updates = 1 << 14;
  books::Replay replay(symbols, updates);
  std::mt19937 rng(48);
  std::uniform_int_distribution<int> level(0, books::kLevels - 1);
  for (int s = 0; s < symbols; ++s)
    for (int i = 0; i < updates; ++i) replay.feed(s)[i] = {level(rng), (i % 3) - 0.9f};
  const std::vector<float> depth = replay.run(4);
  std::printf("depth at touch %.2f, at the edge %.2f\n", depth[books::kLevels / 2], depth.back());
}
