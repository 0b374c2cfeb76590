// KV-cache offloading: the model thread hands finished blocks to a worker which copies them to pinned memory on
// its own stream.  Modelled on vllm-project/vllm#31341.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kBlockFloats = 1 << 15, kBlocks = 6;

__global__ void write_kv(float* block, int n, int id, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float(id);
  for (int l = 0; l < layers; ++l) v = fmaf(v, 0.9999f, 1e-3f);
  block[i] = v;
}

struct StoreJob {
  const float* src;
  float* dst;
  cudaEvent_t kv_ready;
};

// Hand-over point with room for a single job: push() comes back when the worker has submitted it.
class HandOff {
 public:
  void push(StoreJob j) {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [&] { return !job_ && !busy_; });
    job_ = j;
    cv_.notify_all();
    cv_.wait(lk, [&] { return !job_ && !busy_; });
  }
  bool pop(StoreJob& j) {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [&] { return job_ || closed_; });
    if (!job_) return false;
    j = *job_;
    job_.reset();
    busy_ = true;
    return true;
  }
  void submitted() {
    std::lock_guard<std::mutex> lk(m_);
    busy_ = false;
    cv_.notify_all();
  }
  void close() {
    std::lock_guard<std::mutex> lk(m_);
    closed_ = true;
    cv_.notify_all();
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::optional<StoreJob> job_;
  bool busy_ = false, closed_ = false;
};

class OffloadWorker {
 public:
  explicit OffloadWorker(HandOff& h) : handoff_(h) {
    CK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    thread_ = std::thread([this] { loop(); });
  }
  ~OffloadWorker() {
    handoff_.close();
    thread_.join();
    cudaStreamDestroy(copy_);
  }

 private:
  void loop() {
    StoreJob j;
    while (handoff_.pop(j)) {
      CK(cudaStreamWaitEvent(copy_, j.kv_ready, 0));
      CK(cudaMemcpyAsync(j.dst, j.src, kBlockFloats * sizeof(float), cudaMemcpyDeviceToHost, copy_));
      handoff_.submitted();
    }
    CK(cudaStreamSynchronize(copy_));
  }
  HandOff& handoff_;
  cudaStream_t copy_{};
  std::thread thread_;
};

int main() {
  cudaStream_t compute;
  CK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  float *kv, *cpu;
  std::vector<cudaEvent_t> ready(kBlocks);
  for (auto& e : ready) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  CK(cudaMalloc(&kv, sizeof(float) * kBlockFloats * kBlocks));
  CK(cudaMallocHost(&cpu, sizeof(float) * kBlockFloats * kBlocks));
  {
    HandOff handoff;
    OffloadWorker worker(handoff);
    for (int b = 0; b < kBlocks; ++b) {
      float* block = kv + b * kBlockFloats;
      write_kv<<<kBlockFloats / 256, 256, 0, compute>>>(block, kBlockFloats, b, 250000);
      CK(cudaGetLastError());
#ifdef FIXED
      CK(cudaEventRecord(ready[b], compute));
      handoff.push({block, cpu + b * kBlockFloats, ready[b]});
#else
      handoff.push({block, cpu + b * kBlockFloats, ready[b]});
      CK(cudaEventRecord(ready[b], compute));
#endif
    }
    CK(cudaStreamSynchronize(compute));
  }
  for (int b = 0; b < kBlocks; ++b) std::printf("block %d -> %f\n", b, cpu[b * kBlockFloats + 1]);
  for (auto e : ready) CK(cudaEventDestroy(e));
  CK(cudaFree(kv));
  CK(cudaFreeHost(cpu));
  CK(cudaStreamDestroy(compute));
  return 0;
}
