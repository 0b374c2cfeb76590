// Streaming speech recogniser: the joint network step is captured once and
// replayed per token. Small tables go to the device through pinned staging.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#define ASR_CU(x)                                                                       \
  do {                                                                                  \
    cudaError_t err = (x);                                                              \
    if (err != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err));  \
      std::exit(EXIT_FAILURE);                                                          \
    }                                                                                   \
  } while (0)

class StagingPool {
 public:
  ~StagingPool() {
    for (auto& b : free_) cudaFreeHost(b.first);
  }
  std::pair<void*, size_t> take(size_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes) {
        auto b = *it;
        free_.erase(it);
        return b;
      }
    }
    void* p = nullptr;
    ASR_CU(cudaHostAlloc(&p, bytes, cudaHostAllocDefault));
    return {p, bytes};
  }
  void give(std::pair<void*, size_t> b) { free_.push_back(b); }

 private:
  std::vector<std::pair<void*, size_t>> free_;
};

// Host array that becomes a device array in stream order.
template <typename T>
class AsyncBuffer {
 public:
  AsyncBuffer(StagingPool& pool, size_t n) : pool_(pool), block_(pool.take(n * sizeof(T))), n_(n) {}
  ~AsyncBuffer() { pool_.give(block_); }
  T* host() { return static_cast<T*>(block_.first); }
  void copyTo(T* device, cudaStream_t s) {
    ASR_CU(cudaMemcpyAsync(device, block_.first, n_ * sizeof(T), cudaMemcpyHostToDevice, s));
  }

 private:
  StagingPool& pool_;
  std::pair<void*, size_t> block_;
  size_t n_;
};

__global__ void gatherStates(const int* offsets, const float* pool, float* states, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * width) states[i] = pool[offsets[i / width] + i % width];
}

class JointNetwork {
 public:
  JointNetwork(StagingPool& staging, int beams, int width)
      : staging_(staging), beams_(beams), width_(width) {
    ASR_CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ASR_CU(cudaMalloc(reinterpret_cast<void**>(&offsets_), beams * sizeof(int)));
    ASR_CU(cudaMalloc(reinterpret_cast<void**>(&pool_), 64 * beams * width * sizeof(float)));
    ASR_CU(cudaMalloc(reinterpret_cast<void**>(&states_), beams * width * sizeof(float)));
    ASR_CU(cudaMemsetAsync(pool_, 0, 64 * beams * width * sizeof(float), stream_));
  }
  ~JointNetwork() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(offsets_);
    cudaFree(pool_);
    cudaFree(states_);
    cudaStreamDestroy(stream_);
  }

  void gather(const std::vector<int>& offsets, AsyncBuffer<int>& table) {
    std::memcpy(table.host(), offsets.data(), offsets.size() * sizeof(int));
    table.copyTo(offsets_, stream_);
    gatherStates<<<(beams_ * width_ + 127) / 128, 128, 0, stream_>>>(offsets_, pool_, states_,
                                                                   beams_, width_);
  }

  void capture(const std::vector<int>& offsets) {
    if (exec_) return;
    cudaGraph_t graph = nullptr;
    table_ = std::make_unique<AsyncBuffer<int>>(staging_, offsets.size());
    ASR_CU(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    gather(offsets, *table_);
    ASR_CU(cudaStreamEndCapture(stream_, &graph));
    ASR_CU(cudaGraphInstantiate(&exec_, graph, 0));
    ASR_CU(cudaGraphDestroy(graph));
  }

  void decodeStep() { ASR_CU(cudaGraphLaunch(exec_, stream_)); }

  void finish() { ASR_CU(cudaStreamSynchronize(stream_)); }

 private:
  StagingPool& staging_;
  std::unique_ptr<AsyncBuffer<int>> table_;
  int beams_;
  int width_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  int* offsets_ = nullptr;
  float* pool_ = nullptr;
  float* states_ = nullptr;
};

// Spectral features of a new utterance, prepared between decode steps.
void prefill(StagingPool& staging, float* features, int n, cudaStream_t s) {
  AsyncBuffer<float> window(staging, n);
  for (int i = 0; i < n; ++i) window.host()[i] = 0.5f - 0.5f * (i & 1);
  window.copyTo(features, s);
  ASR_CU(cudaStreamSynchronize(s));
}

int main() {
  StagingPool staging;
  JointNetwork net(staging, 16, 320);
  cudaStream_t front = nullptr;
  float* features = nullptr;
  ASR_CU(cudaStreamCreateWithFlags(&front, cudaStreamNonBlocking));
  ASR_CU(cudaMalloc(reinterpret_cast<void**>(&features), 16 * sizeof(float)));

  std::vector<int> offsets(16);
  for (int i = 0; i < 16; ++i) offsets[i] = i * 320;
  net.capture(offsets);
  for (int token = 0; token < 100; ++token) {
    net.decodeStep();
    if (token % 10 == 0) prefill(staging, features, 16, front);
  }
  net.finish();
  ASR_CU(cudaFree(features));
  ASR_CU(cudaStreamDestroy(front));
  return 0;
}
