// Small executor for a keyword spotter: the steady state runs from a CUDA graph, calls with other
// shapes run eagerly on the same stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define KWS(x)                                                                        \
  do {                                                                                \
    cudaError_t e_ = (x);                                                             \
    if (e_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));                   \
      std::abort();                                                                   \
    }                                                                                 \
  } while (0)

constexpr size_t kBlockBytes = 64 << 10;

struct StagingBlock {
  void* host = nullptr;
  cudaEvent_t copied = nullptr;
};

class StagingArena {
 public:
  ~StagingArena() {
    for (StagingBlock& b : free_) {
      cudaEventSynchronize(b.copied);
      cudaEventDestroy(b.copied);
      cudaFreeHost(b.host);
    }
  }
  StagingBlock acquire() {
    if (!free_.empty()) {
      StagingBlock b = free_.back();
      free_.pop_back();
      KWS(cudaEventSynchronize(b.copied));
      return b;
    }
    StagingBlock b;
    KWS(cudaMallocHost(&b.host, kBlockBytes));
    KWS(cudaEventCreateWithFlags(&b.copied, cudaEventDisableTiming));
    return b;
  }
  void release(StagingBlock b) { free_.push_back(b); }

 private:
  std::vector<StagingBlock> free_;
};

__global__ void gatherFrames(const float* bank, const int* index, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = bank[index[i]];
}

class Executor {
 public:
  explicit Executor(StagingArena& arena) : arena_(arena) {
    KWS(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    KWS(cudaMalloc(&index_, kBlockBytes));
  }
  ~Executor() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    for (StagingBlock& b : pinnedByGraph_) arena_.release(b);
    cudaFree(index_);
    cudaStreamDestroy(stream_);
  }

  void run(const float* bank, const std::vector<int>& index, float* out) {
    upload(index);
    const int n = static_cast<int>(index.size());
    gatherFrames<<<(n + 127) / 128, 128, 0, stream_>>>(bank, index_, out, n);
  }

  // Frame indices of the steady state never change, so they are part of the graph.
  void capture(const float* bank, const std::vector<int>& index, float* out) {
    cudaGraph_t graph = nullptr;
    capturing_ = true;
    KWS(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    run(bank, index, out);
    KWS(cudaStreamEndCapture(stream_, &graph));
    capturing_ = false;
    KWS(cudaGraphInstantiate(&exec_, graph, 0));
    KWS(cudaGraphDestroy(graph));
  }

  void replay() { KWS(cudaGraphLaunch(exec_, stream_)); }

  void fetch(float* host, const float* out, int n) {
    KWS(cudaMemcpyAsync(host, out, n * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    KWS(cudaStreamSynchronize(stream_));
  }

 private:
  void upload(const std::vector<int>& index) {
    const size_t bytes = index.size() * sizeof(int);
    StagingBlock b = arena_.acquire();
    std::memcpy(b.host, index.data(), bytes);
    KWS(cudaMemcpyAsync(index_, b.host, bytes, cudaMemcpyHostToDevice, stream_));
    retire(b);
  }

  void retire(StagingBlock b) {
    if (capturing_) {
      // Nothing runs during capture, there is no completion to wait for.
      pinnedByGraph_.push_back(b);
      return;
    }
    KWS(cudaEventRecord(b.copied, stream_));
    arena_.release(b);
  }

  StagingArena& arena_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  int* index_ = nullptr;
  bool capturing_ = false;
  std::vector<StagingBlock> pinnedByGraph_;
};

int main() {
  constexpr int kBank = 1 << 16, kWindow = 4096;
  float *bank = nullptr, *steady = nullptr, *wake = nullptr;
  KWS(cudaMalloc(&bank, kBank * sizeof(float)));
  KWS(cudaMalloc(&steady, kWindow * sizeof(float)));
  KWS(cudaMalloc(&wake, kWindow * sizeof(float)));
  KWS(cudaMemset(bank, 0, kBank * sizeof(float)));
  KWS(cudaDeviceSynchronize());

  std::vector<int> hop(kWindow), probe(kWindow / 2);
  for (int i = 0; i < kWindow; ++i) hop[i] = (i * 16) % kBank;
  for (int i = 0; i < kWindow / 2; ++i) probe[i] = (i * 31) % kBank;

  std::vector<float> result(kWindow);
  {
    StagingArena arena;
    Executor ex(arena);
    ex.capture(bank, hop, steady);
    for (int step = 0; step < 200; ++step) {
      ex.replay();
      if (step % 20 == 0) ex.run(bank, probe, wake);
    }
    ex.fetch(result.data(), steady, kWindow);
  }
  std::printf("first %g last %g\n", result.front(), result.back());
  cudaFree(bank);
  cudaFree(steady);
  cudaFree(wake);
  return 0;
}
