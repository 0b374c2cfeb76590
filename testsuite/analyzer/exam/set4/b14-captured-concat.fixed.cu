// Execution provider with optional graph capture of the decode step.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ep {

#define EP_CALL(x)                                                                 \
  do {                                                                             \
    cudaError_t rc = (x);                                                          \
    if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));       \
  } while (0)

struct PinnedBlock {
  void* host = nullptr;
  cudaEvent_t idle = nullptr;
};

class PinnedPool {
 public:
  static constexpr size_t kBytes = 16384;
  ~PinnedPool() {
    for (auto& b : blocks_) {
      cudaEventSynchronize(b->idle);
      cudaEventDestroy(b->idle);
      cudaFreeHost(b->host);
    }
  }
  PinnedBlock* take() {
    if (free_.empty()) {
      auto b = std::make_unique<PinnedBlock>();
      EP_CALL(cudaMallocHost(&b->host, kBytes));
      EP_CALL(cudaEventCreateWithFlags(&b->idle, cudaEventDisableTiming));
      blocks_.push_back(std::move(b));
      free_.push_back(blocks_.back().get());
    }
    PinnedBlock* b = free_.front();
    free_.pop_front();
    EP_CALL(cudaEventSynchronize(b->idle));
    return b;
  }
  void giveBackAfter(PinnedBlock* b, cudaStream_t s) {
    EP_CALL(cudaEventRecord(b->idle, s));
    free_.push_back(b);
  }

 private:
  std::vector<std::unique_ptr<PinnedBlock>> blocks_;
  std::list<PinnedBlock*> free_;
};

class Provider {
 public:
  Provider() { EP_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Provider() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t stream() const { return stream_; }

  PinnedBlock* borrow() { return pool_.take(); }
  void handBack(PinnedBlock* b) {
    if (capturing_)
      captured_.push_back(b);
    else
      pool_.giveBackAfter(b, stream_);
  }

  void captureBegin() {
    capturing_ = true;
    EP_CALL(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  }
  void captureEnd() {
    cudaGraph_t g;
    EP_CALL(cudaStreamEndCapture(stream_, &g));
    EP_CALL(cudaGraphInstantiate(&exec_, g, 0));
    EP_CALL(cudaGraphDestroy(g));
    capturing_ = false;
  }
  void replay() { EP_CALL(cudaGraphLaunch(exec_, stream_)); }
  void sync() { EP_CALL(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
  cudaGraphExec_t exec_{};
  bool capturing_ = false;
  std::vector<PinnedBlock*> captured_;  // addresses baked into exec_
  PinnedPool pool_;
};

// Host array made visible to one kernel: staged in pinned memory, copied on the provider's stream.
template <class T>
class AsyncBuffer {
 public:
  AsyncBuffer(Provider& p, T* device) : p_(p), block_(p.borrow()), device_(device) {}
  ~AsyncBuffer() { p_.handBack(block_); }
  AsyncBuffer(const AsyncBuffer&) = delete;
  void copyToGpu(const std::vector<T>& v) {
    std::memcpy(block_->host, v.data(), v.size() * sizeof(T));
    EP_CALL(cudaMemcpyAsync(device_, block_->host, v.size() * sizeof(T), cudaMemcpyHostToDevice, p_.stream()));
  }
  const T* gpu() const { return device_; }

 private:
  Provider& p_;
  PinnedBlock* block_;
  T* device_;
};

__global__ void concatRows(const float* const* src, float* dst, int parts, int len) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < len * parts) dst[i] = src[i / len][i % len];
}

class Concat {
 public:
  Concat(Provider& p, int maxParts) : p_(p) { EP_CALL(cudaMalloc(&table_, maxParts * sizeof(float*))); }
  ~Concat() { cudaFree(table_); }
  void compute(const std::vector<const float*>& parts, float* dst, int len) {
    AsyncBuffer<const float*> ptrs(p_, table_);
    ptrs.copyToGpu(parts);
    const int n = int(parts.size());
    concatRows<<<(n * len + 255) / 256, 256, 0, p_.stream()>>>(ptrs.gpu(), dst, n, len);
    EP_CALL(cudaGetLastError());
  }

 private:
  Provider& p_;
  const float** table_ = nullptr;
};

}  // namespace ep

int main() {
  ep::Provider p;
  const int len = 4096;
  float *kv, *step, *out;
  EP_CALL(cudaMalloc(&kv, 64 * len * sizeof(float)));
  EP_CALL(cudaMalloc(&step, len * sizeof(float)));
  EP_CALL(cudaMalloc(&out, 64 * len * sizeof(float)));
  EP_CALL(cudaMemset(kv, 0, 64 * len * sizeof(float)));
  EP_CALL(cudaMemset(step, 0, len * sizeof(float)));
  EP_CALL(cudaDeviceSynchronize());
  {
    ep::Concat decode(p, 64), prefill(p, 64);
    p.captureBegin();
    decode.compute({kv, step}, out, len);
    p.captureEnd();
    for (int token = 0; token < 256; ++token) {
      p.replay();
      if (token % 16 == 0) {
        std::vector<const float*> rows;
        for (int r = 0; r < 32; ++r) rows.push_back(kv + r * len);
        prefill.compute(rows, out, len);
      }
    }
    p.sync();
  }
  cudaFree(kv);
  cudaFree(step);
  cudaFree(out);
}
