#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_OK(x)                                                              \
  do {                                                                          \
    cudaError_t e_ = (x);                                                       \
    if (e_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e_));    \
  } while (0)
#define NCCL_OK(x)                                                              \
  do {                                                                          \
    ncclResult_t r_ = (x);                                                      \
    if (r_ != ncclSuccess) throw std::runtime_error(ncclGetErrorString(r_));    \
  } while (0)

__global__ void weightGradient(const float* act, const float* delta, float* grad, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grad[i] = act[i] * delta[i];
}

__global__ void scaleInPlace(float* x, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= s;
}

__global__ void sgd(float* w, const float* g, float lr, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) w[i] -= lr * g[i];
}

struct Layer {
  const float* act;
  const float* delta;
  float* grad;
  int n;
};

class GradBucket {
 public:
  explicit GradBucket(size_t capacity) : capacity_(capacity) {
    CUDA_OK(cudaMalloc(&flat_, capacity * sizeof(float)));
    CUDA_OK(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
  }
  ~GradBucket() {
    cudaEventSynchronize(reduced_);
    cudaEventDestroy(reduced_);
    cudaFree(flat_);
  }

  bool fits(int n) const { return used_ + n <= capacity_; }

  void append(const Layer& l, cudaStream_t s) {
    CUDA_OK(cudaStreamWaitEvent(s, reduced_, 0));
    CUDA_OK(cudaMemcpyAsync(flat_ + used_, l.grad, l.n * sizeof(float), cudaMemcpyDeviceToDevice, s));
    used_ += l.n;
  }

  float* data() { return flat_; }
  size_t used() const { return used_; }
  void clear() { used_ = 0; }
  cudaEvent_t reduced() const { return reduced_; }

 private:
  size_t capacity_;
  size_t used_ = 0;
  float* flat_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
};

class OverlappedReducer {
 public:
  OverlappedReducer(ncclComm_t comm, int world, size_t cap) : comm_(comm), world_(world), bucket_(cap) {
    CUDA_OK(cudaStreamCreateWithFlags(&commStream_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~OverlappedReducer() {
    cudaStreamSynchronize(commStream_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(commStream_);
  }

  void onGradReady(const Layer& l, cudaStream_t s) {
    if (!bucket_.fits(l.n)) throw std::length_error("bucket overflow");
    bucket_.append(l, s);
  }

  float* reduce(cudaStream_t current) {
    const int n = static_cast<int>(bucket_.used());
    CUDA_OK(cudaEventRecord(ready_, current));
    CUDA_OK(cudaStreamWaitEvent(commStream_, ready_, 0));
    NCCL_OK(ncclAllReduce(bucket_.data(), bucket_.data(), n, ncclFloat, ncclSum, comm_, commStream_));
    scaleInPlace<<<(n + 255) / 256, 256, 0, commStream_>>>(bucket_.data(), 1.f / world_, n);
    CUDA_OK(cudaEventRecord(bucket_.reduced(), commStream_));
    bucket_.clear();
    return bucket_.data();
  }

  void joinInto(cudaStream_t s) { CUDA_OK(cudaStreamWaitEvent(s, bucket_.reduced(), 0)); }

 private:
  ncclComm_t comm_;
  int world_;
  GradBucket bucket_;
  cudaStream_t commStream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

void backwardPass(OverlappedReducer& red, const std::vector<Layer>& layers,
                  const std::vector<cudaStream_t>& lanes) {
  for (size_t i = 0; i < layers.size(); ++i) {
    cudaStream_t s = lanes[i % lanes.size()];
    const Layer& l = layers[i];
    weightGradient<<<(l.n + 255) / 256, 256, 0, s>>>(l.act, l.delta, l.grad, l.n);
    red.onGradReady(l, s);
  }
}

void trainStep(OverlappedReducer& red, const std::vector<Layer>& layers,
               const std::vector<cudaStream_t>& lanes, float* weights, int total, float lr) {
  backwardPass(red, layers, lanes);
  cudaStream_t tail = lanes[(layers.size() - 1) % lanes.size()];
  float* flat = red.reduce(tail);
  red.joinInto(tail);
  sgd<<<(total + 255) / 256, 256, 0, tail>>>(weights, flat, lr, total);
  for (cudaStream_t s : lanes) CUDA_OK(cudaStreamSynchronize(s));
}
