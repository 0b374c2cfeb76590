// Paged KV cache: block offsets of the batch are staged through one persistent pinned table.
// Modelled on NVIDIA/TensorRT-LLM#15546.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TLLM_CUDA_CHECK(x)                                                              \
  do {                                                                                  \
    auto const r_ = (x);                                                                \
    if (r_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(r_));   \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kSeqs = 64, kBlocksPerSeq = 32, kPoolBlocks = 4096, kBlockFloats = 256;
constexpr int kTable = kSeqs * kBlocksPerSeq;

__global__ void attention(float const* pool, int32_t const* offsets, float* out, int work) {
  int seq = blockIdx.x;
  float acc = 0;
  for (int b = 0; b < kBlocksPerSeq; ++b) {
    int blk = min(max(offsets[seq * kBlocksPerSeq + b], 0), kPoolBlocks - 1);
    acc += pool[blk * kBlockFloats + threadIdx.x];
  }
  for (int k = 0; k < work; ++k) acc = fmaf(acc, 0.9999f, 1e-4f);
  out[seq * blockDim.x + threadIdx.x] = acc;
}

class KvCacheManager {
 public:
  KvCacheManager() {
    TLLM_CUDA_CHECK(cudaMallocHost(&hostOffsets_, kTable * sizeof(int32_t)));
    TLLM_CUDA_CHECK(cudaMalloc(&devOffsets_, kTable * sizeof(int32_t)));
    TLLM_CUDA_CHECK(cudaEventCreateWithFlags(&staged_, cudaEventDisableTiming));
  }
  ~KvCacheManager() {
    cudaFreeHost(hostOffsets_), cudaFree(devOffsets_);
    cudaEventDestroy(staged_);
  }
  // Writes the offsets of this step's batch in place and sends them to the device.
  int32_t const* copyBlockOffsets(int step, cudaStream_t stream) {
#ifdef FIXED
    TLLM_CUDA_CHECK(cudaEventSynchronize(staged_));
#endif
    for (int s = 0; s < kSeqs; ++s) {
      for (int b = 0; b < kBlocksPerSeq; ++b) {
        hostOffsets_[s * kBlocksPerSeq + b] = (s * 61 + b * 7 + step * 131) % kPoolBlocks;
      }
    }
    TLLM_CUDA_CHECK(cudaMemcpyAsync(devOffsets_, hostOffsets_, kTable * sizeof(int32_t), cudaMemcpyHostToDevice, stream));
#ifdef FIXED
    TLLM_CUDA_CHECK(cudaEventRecord(staged_, stream));
#endif
    return devOffsets_;
  }

 private:
  int32_t *hostOffsets_{}, *devOffsets_{};
  cudaEvent_t staged_{};
};

class Executor {
 public:
  Executor() {
    TLLM_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TLLM_CUDA_CHECK(cudaMalloc(&pool_, sizeof(float) * kPoolBlocks * kBlockFloats));
    TLLM_CUDA_CHECK(cudaMalloc(&out_, sizeof(float) * kSeqs * kBlockFloats));
    TLLM_CUDA_CHECK(cudaMemsetAsync(pool_, 0, sizeof(float) * kPoolBlocks * kBlockFloats, stream_));
  }
  ~Executor() {
    cudaStreamSynchronize(stream_);
    cudaFree(pool_), cudaFree(out_);
    cudaStreamDestroy(stream_);
  }
  void forward(int step) {
    auto const* offsets = kv_.copyBlockOffsets(step, stream_);
    attention<<<kSeqs, kBlockFloats, 0, stream_>>>(pool_, offsets, out_, 300000);
    TLLM_CUDA_CHECK(cudaGetLastError());
  }
  float read() {
    float h;
    TLLM_CUDA_CHECK(cudaStreamSynchronize(stream_));
    TLLM_CUDA_CHECK(cudaMemcpy(&h, out_, sizeof h, cudaMemcpyDeviceToHost));
    return h;
  }

 private:
  cudaStream_t stream_{};
  float *pool_{}, *out_{};
  KvCacheManager kv_;
};

int main() {
  Executor exec;
  for (int step = 0; step < 6; ++step) exec.forward(step);
  std::printf("out[0] = %f\n", exec.read());
  TLLM_CUDA_CHECK(cudaGetLastError());
  return 0;
}
