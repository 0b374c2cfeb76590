// CudaAsyncBuffer: small host arrays that kernels need on the device, with CUDA-graph capture of a decode step.
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#define CUDA_RETURN_OR_THROW(e) \
  do { cudaError_t r_ = (e); if (r_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(r_)); } while (0)

namespace onnxruntime::cuda {

constexpr size_t kBlock = 4096;

class PinnedPool {
 public:
  ~PinnedPool() { for (void* p : blocks_) cudaFreeHost(p); }
  std::shared_ptr<void> Get() {
    void* p;
    if (!free_.empty()) {
      p = free_.back();
      free_.pop_back();
    } else {
      CUDA_RETURN_OR_THROW(cudaHostAlloc(&p, kBlock, cudaHostAllocDefault));
      blocks_.push_back(p);
    }
    return std::shared_ptr<void>(p, [this](void* q) { free_.push_back(q); });
  }
 private:
  std::vector<void*> blocks_, free_;
};

__global__ void GatherRows(const float* table, const int64_t* ids, const int64_t* strides, float* out, int rows, int cols) {
  int r = blockIdx.x;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[r * cols + c] = table[ids[r] * strides[0] + c * strides[1]];
}

struct Provider {
  Provider() {
    CUDA_RETURN_OR_THROW(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA_RETURN_OR_THROW(cudaMalloc(&ids, kBlock));
    CUDA_RETURN_OR_THROW(cudaMalloc(&strides, kBlock));
    pool.Get();
  }
  ~Provider() {
    cudaStreamSynchronize(stream);
    if (exec) cudaGraphExecDestroy(exec);
    cudaFree(ids);
    cudaFree(strides);
    cudaStreamDestroy(stream);
  }
  PinnedPool pool;
  cudaStream_t stream{};
  int64_t *ids{}, *strides{};
  cudaGraphExec_t exec{};
  std::vector<std::shared_ptr<void>> retained;
};

template <typename T>
class CudaAsyncBuffer {
 public:
  CudaAsyncBuffer(Provider& p, size_t n) : provider_(p), staging_(p.pool.Get()), n_(n) {}
  T* CpuPtr() { return static_cast<T*>(staging_.get()); }
  void CopyToGpu(T* dst) {
    CUDA_RETURN_OR_THROW(cudaMemcpyAsync(dst, CpuPtr(), n_ * sizeof(T), cudaMemcpyHostToDevice, provider_.stream));
    cudaStreamCaptureStatus status;
    CUDA_RETURN_OR_THROW(cudaStreamIsCapturing(provider_.stream, &status));
    if (status == cudaStreamCaptureStatusNone) {
      CUDA_RETURN_OR_THROW(cudaStreamSynchronize(provider_.stream));
    } else {
      provider_.retained.push_back(staging_);
    }
  }
 private:
  Provider& provider_;
  std::shared_ptr<void> staging_;
  size_t n_;
};

// Runs under capture: the strides are constant for the session.
void ComputeGather(Provider& p, const float* table, float* out, int rows, int cols) {
  CudaAsyncBuffer<int64_t> strides(p, 2);
  strides.CpuPtr()[0] = cols;
  strides.CpuPtr()[1] = 1;
  strides.CopyToGpu(p.strides);
  GatherRows<<<rows, 128, 0, p.stream>>>(table, p.ids, p.strides, out, rows, cols);
  CUDA_RETURN_OR_THROW(cudaGetLastError());
}

void CaptureStep(Provider& p, const float* table, float* out, int rows, int cols) {
  cudaGraph_t graph;
  CUDA_RETURN_OR_THROW(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
  ComputeGather(p, table, out, rows, cols);
  CUDA_RETURN_OR_THROW(cudaStreamEndCapture(p.stream, &graph));
  CUDA_RETURN_OR_THROW(cudaGraphInstantiate(&p.exec, graph, 0));
  CUDA_RETURN_OR_THROW(cudaGraphDestroy(graph));
}

// Token ids of one step; uploaded outside the graph.
void FeedIds(Provider& p, const std::vector<int64_t>& ids) {
  CudaAsyncBuffer<int64_t> feed(p, ids.size());
  for (size_t i = 0; i < ids.size(); ++i) feed.CpuPtr()[i] = ids[i];
  feed.CopyToGpu(p.ids);
}

void Replay(Provider& p) { CUDA_RETURN_OR_THROW(cudaGraphLaunch(p.exec, p.stream)); }

}  // namespace onnxruntime::cuda

void Decode(const float* table, float* out, int rows, int cols, const std::vector<std::vector<int64_t>>& steps) {
  using namespace onnxruntime::cuda;
  Provider p;
  CaptureStep(p, table, out, rows, cols);
  for (const auto& ids : steps) {
    FeedIds(p, ids);
    Replay(p);
  }
  CUDA_RETURN_OR_THROW(cudaStreamSynchronize(p.stream));
}
