// Keyword spotting session: a tiny 1-D convolution net fed with audio blocks.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace kws {

#define KWS_CUDA(call)                                                     \
  do {                                                                     \
    const cudaError_t rc = (call);                                         \
    if (rc != cudaSuccess) {                                               \
      std::fprintf(stderr, "[kws] %s:%d %s\n", __FILE__, __LINE__,         \
                   cudaGetErrorString(rc));                                \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

class PooledBuffer {
 public:
  PooledBuffer() = default;
  ~PooledBuffer() { Reset(); }
  PooledBuffer(const PooledBuffer&) = delete;
  PooledBuffer& operator=(const PooledBuffer&) = delete;

  void Allocate(size_t floats, cudaStream_t stream) {
    Reset();
    stream_ = stream;
    KWS_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&data_), floats * sizeof(float), stream_));
  }
  void Reset() {
    if (data_ == nullptr) return;
    cudaFreeAsync(data_, stream_);
    data_ = nullptr;
  }
  float* data() { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

__global__ void Conv1d(const float* in, const float* taps, int ntaps, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < ntaps; ++t)
    if (i - t >= 0) acc += taps[t] * in[i - t];
  out[i] = acc > 0.f ? acc : 0.1f * acc;
}

class Session {
 public:
  Session(int block, int ntaps, const float* pinned_taps) : block_(block), ntaps_(ntaps) {
    KWS_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    taps_.Allocate(ntaps, stream_);
    ping_.Allocate(block, stream_);
    pong_.Allocate(block, stream_);
    KWS_CUDA(cudaMemcpyAsync(taps_.data(), pinned_taps, ntaps * sizeof(float), cudaMemcpyHostToDevice, stream_));
  }

  ~Session() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void Process(const float* pinned_block, float* pinned_scores) {
    const int grid = (block_ + 127) / 128;
    KWS_CUDA(cudaMemcpyAsync(ping_.data(), pinned_block, block_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    Conv1d<<<grid, 128, 0, stream_>>>(ping_.data(), taps_.data(), ntaps_, block_, pong_.data());
    Conv1d<<<grid, 128, 0, stream_>>>(pong_.data(), taps_.data(), ntaps_, block_, ping_.data());
    KWS_CUDA(cudaGetLastError());
    KWS_CUDA(cudaMemcpyAsync(pinned_scores, ping_.data(), block_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    KWS_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  int block_;
  int ntaps_;
  cudaStream_t stream_ = nullptr;
  PooledBuffer taps_, ping_, pong_;
};

float Peak(int block, int ntaps, const float* pinned_taps, const float* pinned_block, float* pinned_scores) {
  Session session(block, ntaps, pinned_taps);
  session.Process(pinned_block, pinned_scores);
  float peak = pinned_scores[0];
  for (int i = 1; i < block; ++i) peak = pinned_scores[i] > peak ? pinned_scores[i] : peak;
  return peak;
}

}  // namespace kws
