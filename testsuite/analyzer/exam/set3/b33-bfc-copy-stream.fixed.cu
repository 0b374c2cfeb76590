// Licensed under the MIT License.
// Host-timeline arena and execution frame of the CUDA provider.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_CALL_THROW(expr)                                                       \
  do {                                                                              \
    if (cudaError_t err_ = (expr); err_ != cudaSuccess)                             \
      throw std::runtime_error(std::string(#expr " -> ") + cudaGetErrorString(err_)); \
  } while (0)

namespace onnxruntime {

class IAllocator {
 public:
  virtual ~IAllocator() = default;
  virtual void* Alloc(size_t size) = 0;
  virtual void Free(void* p) = 0;
};

// Best-fit arena: a chunk is available again as soon as the host has freed it.
class BFCArena : public IAllocator {
 public:
  ~BFCArena() override {
    for (auto* p : regions_) cudaFree(p);
  }
  void* Alloc(size_t size) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto it = free_chunks_.lower_bound(size); it != free_chunks_.end()) {
      void* p = it->second;
      in_use_[p] = it->first;
      free_chunks_.erase(it);
      return p;
    }
    void* p = nullptr;
    CUDA_CALL_THROW(cudaMalloc(&p, size));
    regions_.push_back(p);
    in_use_[p] = size;
    return p;
  }
  void Free(void* p) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = in_use_.find(p);
    free_chunks_.emplace(it->second, p);
    in_use_.erase(it);
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, void*> free_chunks_;
  std::map<void*, size_t> in_use_;
  std::vector<void*> regions_;
};

__global__ void _Scale(const float* x, float* y, float alpha, int n) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id < n) y[id] = alpha * x[id];
}

class CUDAExecutionProvider {
 public:
  CUDAExecutionProvider() {
    CUDA_CALL_THROW(cudaStreamCreateWithFlags(&compute_stream_, cudaStreamNonBlocking));
    CUDA_CALL_THROW(cudaStreamCreateWithFlags(&copy_out_stream_, cudaStreamNonBlocking));
    CUDA_CALL_THROW(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming));
  }
  ~CUDAExecutionProvider() {
    Sync();
    cudaEventDestroy(computed_);
    cudaStreamDestroy(copy_out_stream_);
    cudaStreamDestroy(compute_stream_);
  }

  float* RunScale(const float* x, float alpha, int n) {
    auto* y = static_cast<float*>(arena_.Alloc(n * sizeof(float)));
    _Scale<<<(n + 255) / 256, 256, 0, compute_stream_>>>(x, y, alpha, n);
    CUDA_CALL_THROW(cudaGetLastError());
    return y;
  }

  void CopyOut(float* pinned_dst, const float* src, int n) {
    CUDA_CALL_THROW(cudaMemcpyAsync(pinned_dst, src, n * sizeof(float), cudaMemcpyDeviceToHost, compute_stream_));
  }

  void Release(void* p) { arena_.Free(p); }

  void Sync() {
    CUDA_CALL_THROW(cudaStreamSynchronize(compute_stream_));
    CUDA_CALL_THROW(cudaStreamSynchronize(copy_out_stream_));
  }

 private:
  BFCArena arena_;
  cudaStream_t compute_stream_{}, copy_out_stream_{};
  cudaEvent_t computed_{};
};

}  // namespace onnxruntime

// Each graph output is fetched as soon as its node has been enqueued.
void RunModel(const float* device_input, const std::vector<float*>& pinned_outputs, int n) {
  onnxruntime::CUDAExecutionProvider ep;
  float alpha = 1.f;
  for (float* out : pinned_outputs) {
    float* y = ep.RunScale(device_input, alpha, n);
    ep.CopyOut(out, y, n);
    ep.Release(y);
    alpha *= 0.5f;
  }
  ep.Sync();
}
