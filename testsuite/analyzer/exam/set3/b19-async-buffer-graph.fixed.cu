#include <cuda_runtime.h>

#include <cstdint>
#include <iostream>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define ORT_ENFORCE_CUDA(expr)                                                                    \
  do {                                                                                            \
    cudaError_t _err = (expr);                                                                    \
    if (_err != cudaSuccess) throw std::runtime_error(std::string(#expr) + cudaGetErrorString(_err)); \
  } while (0)

namespace onnxruntime {

class PinnedAllocator {
 public:
  static constexpr size_t kChunk = 4096;
  ~PinnedAllocator() {
    for (void* p : all_) cudaFreeHost(p);
  }
  void* Alloc() {
    if (free_.empty()) {
      void* p = nullptr;
      ORT_ENFORCE_CUDA(cudaMallocHost(&p, kChunk));
      all_.push_back(p);
      return p;
    }
    void* p = free_.front();
    free_.pop_front();
    return p;
  }
  void Free(void* p) { free_.push_front(p); }

 private:
  std::list<void*> free_;
  std::vector<void*> all_;
};

class CudaExecutionProvider {
 public:
  CudaExecutionProvider() {
    ORT_ENFORCE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ORT_ENFORCE_CUDA(cudaMalloc(&table_, PinnedAllocator::kChunk));
    ORT_ENFORCE_CUDA(cudaMalloc(&capture_table_, PinnedAllocator::kChunk));
  }
  ~CudaExecutionProvider() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(table_);
    cudaFree(capture_table_);
    cudaStreamDestroy(stream_);
  }

  void CaptureBegin() {
    capturing_ = true;
    ORT_ENFORCE_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  }
  void CaptureEnd() {
    cudaGraph_t graph;
    ORT_ENFORCE_CUDA(cudaStreamEndCapture(stream_, &graph));
    ORT_ENFORCE_CUDA(cudaGraphInstantiate(&exec_, graph, nullptr, nullptr, 0));
    ORT_ENFORCE_CUDA(cudaGraphDestroy(graph));
    capturing_ = false;
  }
  void ReplayGraph() { ORT_ENFORCE_CUDA(cudaGraphLaunch(exec_, stream_)); }

  void AddDeferredReleaseCPUPtr(void* p) {
    if (capturing_) return retained_.push_back(p);
    deferred_.push_back(p);
  }
  void OnRunEnd() {
    if (!capturing_) ORT_ENFORCE_CUDA(cudaStreamSynchronize(stream_));
    for (void* p : deferred_) pinned_.Free(p);
    deferred_.clear();
  }

  PinnedAllocator& Pinned() { return pinned_; }
  cudaStream_t Stream() const { return stream_; }
  int64_t* DeviceTable() const { return capturing_ ? capture_table_ : table_; }

 private:
  PinnedAllocator pinned_;
  std::vector<void*> deferred_, retained_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  int64_t *table_ = nullptr, *capture_table_ = nullptr;
  bool capturing_ = false;
};

// Small host table staged in pinned memory and copied in the compute stream.
template <typename T>
class CudaAsyncBuffer {
 public:
  CudaAsyncBuffer(CudaExecutionProvider& ep, size_t count) : ep_(ep), count_(count), cpu_(static_cast<T*>(ep.Pinned().Alloc())) {}
  ~CudaAsyncBuffer() { ep_.AddDeferredReleaseCPUPtr(cpu_); }
  T* CpuPtr() { return cpu_; }
  T* CopyToGpu() {
    T* gpu = ep_.DeviceTable();
    ORT_ENFORCE_CUDA(cudaMemcpyAsync(gpu, cpu_, count_ * sizeof(T), cudaMemcpyHostToDevice, ep_.Stream()));
    return gpu;
  }

 private:
  CudaExecutionProvider& ep_;
  size_t count_;
  T* cpu_;
};

__global__ void ConcatKernel(float* y, const int64_t* offsets, int inputs, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(offsets[i % inputs]);
}

class Concat {
 public:
  void ComputeInternal(CudaExecutionProvider& ep, float* y, int n, int inputs) const {
    CudaAsyncBuffer<int64_t> offsets(ep, inputs);
    for (int i = 0; i < inputs; ++i) offsets.CpuPtr()[i] = static_cast<int64_t>(i) * n / inputs;
    const int64_t* gpu_offsets = offsets.CopyToGpu();
    ConcatKernel<<<(n + 255) / 256, 256, 0, ep.Stream()>>>(y, gpu_offsets, inputs, n);
    ORT_ENFORCE_CUDA(cudaGetLastError());
  }
};

}  // namespace onnxruntime

int main() {
  using namespace onnxruntime;
  CudaExecutionProvider ep;
  Concat concat;
  float *decode_out = nullptr, *prefill_out = nullptr;
  ORT_ENFORCE_CUDA(cudaMalloc(&decode_out, 4096 * sizeof(float)));
  ORT_ENFORCE_CUDA(cudaMalloc(&prefill_out, 65536 * sizeof(float)));
  ep.CaptureBegin();
  concat.ComputeInternal(ep, decode_out, 4096, 8);
  ep.OnRunEnd();
  ep.CaptureEnd();
  for (int token = 0; token < 64; ++token) {
    ep.ReplayGraph();
    if (token % 16 == 7) {
      concat.ComputeInternal(ep, prefill_out, 65536, 32);
      ep.OnRunEnd();
    }
  }
  ORT_ENFORCE_CUDA(cudaStreamSynchronize(ep.Stream()));
  ORT_ENFORCE_CUDA(cudaFree(decode_out));
  ORT_ENFORCE_CUDA(cudaFree(prefill_out));
  return 0;
}
