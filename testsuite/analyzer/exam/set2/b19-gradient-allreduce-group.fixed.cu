// Data-parallel trainer on top of a thin NCCL process group.
#include <cuda_runtime.h>
#include <nccl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace dp {

inline void ThrowIf(bool bad, const std::string& msg) {
  if (bad) throw std::runtime_error(msg);
}
inline void CudaOk(cudaError_t e) { ThrowIf(e != cudaSuccess, cudaGetErrorString(e)); }
inline void NcclOk(ncclResult_t r) { ThrowIf(r != ncclSuccess, ncclGetErrorString(r)); }

class ProcessGroup {
 public:
  explicit ProcessGroup(ncclComm_t comm) : comm_(comm) {
    int low = 0, high = 0;
    CudaOk(cudaDeviceGetStreamPriorityRange(&low, &high));
    CudaOk(cudaStreamCreateWithPriority(&comm_stream_, cudaStreamNonBlocking, high));
    CudaOk(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
    CudaOk(cudaEventCreateWithFlags(&end_, cudaEventDisableTiming));
  }
  ~ProcessGroup() {
    cudaStreamSynchronize(comm_stream_);
    cudaEventDestroy(end_);
    cudaEventDestroy(begin_);
    cudaStreamDestroy(comm_stream_);
  }

  // In-place average over all ranks. `caller` is the stream that produced the
  // data and that goes on using it after Wait().
  void AllReduce(float* data, size_t count, cudaStream_t caller) {
    CudaOk(cudaEventRecord(begin_, caller));
    CudaOk(cudaStreamWaitEvent(comm_stream_, begin_, 0));
    NcclOk(ncclAllReduce(data, data, count, ncclFloat, ncclAvg, comm_, comm_stream_));
    CudaOk(cudaEventRecord(end_, comm_stream_));
  }

  void Wait(cudaStream_t caller) { CudaOk(cudaStreamWaitEvent(caller, end_, 0)); }

 private:
  ncclComm_t comm_;
  cudaStream_t comm_stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

__global__ void BackwardLinear(const float* x, const float* dy, float* dw, int rows, int in, int out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= in * out) return;
  float acc = 0.f;
  for (int r = 0; r < rows; r++) acc += x[r * in + i / out] * dy[r * out + i % out];
  dw[i] = acc;
}

__global__ void Sgd(float* w, const float* dw, int n, float lr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= lr * dw[i];
}

struct Linear {
  float *w, *dw, *x, *dy;
  int rows, in, out;
};

class Trainer {
 public:
  Trainer(ProcessGroup& group, std::vector<Linear> layers) : group_(group), layers_(std::move(layers)) {
    CudaOk(cudaStreamCreate(&compute_));
  }
  ~Trainer() {
    cudaStreamSynchronize(compute_);
    cudaStreamDestroy(compute_);
  }

  void Step(float lr) {
    for (auto it = layers_.rbegin(); it != layers_.rend(); ++it) {
      int n = it->in * it->out;
      BackwardLinear<<<(n + 127) / 128, 128, 0, compute_>>>(it->x, it->dy, it->dw, it->rows, it->in, it->out);
      CudaOk(cudaGetLastError());
      group_.AllReduce(it->dw, n, compute_);
    }
    group_.Wait(compute_);
    for (auto& l : layers_) {
      int n = l.in * l.out;
      Sgd<<<(n + 127) / 128, 128, 0, compute_>>>(l.w, l.dw, n, lr);
      CudaOk(cudaGetLastError());
    }
  }

 private:
  ProcessGroup& group_;
  std::vector<Linear> layers_;
  cudaStream_t compute_ = nullptr;
};

}  // namespace dp
