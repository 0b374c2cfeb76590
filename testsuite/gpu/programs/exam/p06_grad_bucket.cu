// Gradient bucket filled from several autograd streams, reduced on a side stream.
// Modelled on deepspeedai/DeepSpeed#8061.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define DS_CHECK(x)                                                                 \
  if (cudaError_t e_ = (x); e_ != cudaSuccess) {                                    \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
    std::exit(1);                                                                   \
  }

__global__ void backward(float* grad, int n, float lr, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = lr * (i % 31);
  for (int d = 0; d < depth; ++d) g = g * 0.99995f + 1e-4f;
  grad[i] = g;
}
__global__ void allreduce_avg(float* bucket, int n, float inv_world) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bucket[i] *= inv_world;
}

struct Param {
  float* grad{};
  int numel{};
};

class IpgBucket {
 public:
  explicit IpgBucket(int capacity) : capacity_(capacity) {
    DS_CHECK(cudaMalloc(&buffer_, capacity * sizeof(float)));
    DS_CHECK(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
    DS_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    DS_CHECK(cudaStreamCreateWithFlags(&reduction_stream_, cudaStreamNonBlocking));
  }
  ~IpgBucket() {
    cudaStreamSynchronize(reduction_stream_);
    cudaFree(buffer_);
    cudaEventDestroy(reduced_), cudaEventDestroy(ready_);
    cudaStreamDestroy(reduction_stream_);
  }

  void push(const Param& p, cudaStream_t producer) {
    // the previous reduction of this bucket must be over before it is refilled
    DS_CHECK(cudaStreamWaitEvent(producer, reduced_, 0));
    DS_CHECK(cudaMemcpyAsync(buffer_ + used_, p.grad, p.numel * sizeof(float), cudaMemcpyDeviceToDevice, producer));
    used_ += p.numel;
    if (std::find(copy_streams_.begin(), copy_streams_.end(), producer) == copy_streams_.end())
      copy_streams_.push_back(producer);
  }

  bool full() const { return used_ >= capacity_; }

  void average_tensor(cudaStream_t current) {
#ifdef FIXED
    for (cudaStream_t s : copy_streams_) {
      DS_CHECK(cudaEventRecord(ready_, s));
      DS_CHECK(cudaStreamWaitEvent(reduction_stream_, ready_, 0));
    }
    (void)current;
#else
    DS_CHECK(cudaEventRecord(ready_, current));
    DS_CHECK(cudaStreamWaitEvent(reduction_stream_, ready_, 0));
#endif
    allreduce_avg<<<(used_ + 255) / 256, 256, 0, reduction_stream_>>>(buffer_, used_, 0.125f);
    DS_CHECK(cudaGetLastError());
    DS_CHECK(cudaEventRecord(reduced_, reduction_stream_));
    used_ = 0;
    copy_streams_.clear();
  }

  void fetch(float* host) {
    DS_CHECK(cudaMemcpyAsync(host, buffer_, capacity_ * sizeof(float), cudaMemcpyDeviceToHost, reduction_stream_));
    DS_CHECK(cudaStreamSynchronize(reduction_stream_));
  }

 private:
  int capacity_, used_ = 0;
  float* buffer_{};
  cudaEvent_t reduced_{}, ready_{};
  cudaStream_t reduction_stream_{};
  std::vector<cudaStream_t> copy_streams_;
};

int main() {
  constexpr int kParams = 4, kNumel = 1 << 15;
  cudaStream_t autograd[2];
  for (auto& s : autograd) DS_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  std::vector<Param> params(kParams);
  for (auto& p : params) {
    p.numel = kNumel;
    DS_CHECK(cudaMalloc(&p.grad, kNumel * sizeof(float)));
  }
  float* host;
  DS_CHECK(cudaMallocHost(&host, kParams * kNumel * sizeof(float)));
  {
    IpgBucket bucket(kParams * kNumel);
    for (int step = 0; step < 3; ++step) {
      for (int i = kParams - 1; i >= 0; --i) {
        // compiled blocks of the backward pass alternate between two streams
        cudaStream_t s = autograd[i % 2];
        backward<<<kNumel / 256, 256, 0, s>>>(params[i].grad, kNumel, 0.1f * (i + 1), i % 2 ? 200000 : 2000);
        DS_CHECK(cudaGetLastError());
        bucket.push(params[i], s);
        if (bucket.full()) bucket.average_tensor(s);
      }
    }
    for (auto s : autograd) DS_CHECK(cudaStreamSynchronize(s));
    bucket.fetch(host);
  }
  std::printf("avg grad %g %g\n", host[1], host[kNumel + 1]);
  for (auto& p : params) cudaFree(p.grad);
  for (auto s : autograd) cudaStreamDestroy(s);
  cudaFreeHost(host);
  return 0;
}
