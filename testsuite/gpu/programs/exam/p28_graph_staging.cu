// Execution provider with graph capture: small host tensors travel through pinned staging buffers from a pool.
// Modelled on microsoft/onnxruntime#32121.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_CALL_THROW(x)                                                               \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kEntries = 1 << 16, kTokens = 1 << 14;

class PinnedPool {
 public:
  ~PinnedPool() {
    for (int* p : all_) cudaFreeHost(p);
  }
  int* Get() {
    if (free_.empty()) {
      int* p;
      CUDA_CALL_THROW(cudaMallocHost(&p, kEntries * sizeof(int)));
      all_.push_back(p);
      return p;
    }
    int* p = free_.back();
    free_.pop_back();
    return p;
  }
  void Put(int* p) { free_.push_back(p); }

 private:
  std::vector<int*> all_, free_;
};

__global__ void AttentionStep(float* hidden, int n, int layers) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float h = hidden[i];
  for (int l = 0; l < layers; ++l) h = fmaf(h, 0.9999f, 0.02f);
  hidden[i] = h;
}
__global__ void ConcatKernel(const int* offsets, const float* hidden, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = hidden[(unsigned)offsets[i] % kTokens];
}

class CudaExecutionProvider {
 public:
  CudaExecutionProvider() {
    CUDA_CALL_THROW(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_CALL_THROW(cudaMalloc(&hidden_, kTokens * sizeof(float)));
    CUDA_CALL_THROW(cudaMalloc(&out_, kTokens * sizeof(float)));
    CUDA_CALL_THROW(cudaMalloc(&decode_offsets_, kEntries * sizeof(int)));
    CUDA_CALL_THROW(cudaMalloc(&prefill_offsets_, kEntries * sizeof(int)));
    CUDA_CALL_THROW(cudaMemsetAsync(hidden_, 0, kTokens * sizeof(float), stream_));
  }
  ~CudaExecutionProvider() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(hidden_), cudaFree(out_), cudaFree(decode_offsets_), cudaFree(prefill_offsets_);
    cudaStreamDestroy(stream_);
  }

  void CaptureDecode() {
    int* staging = pool_.Get();
    for (int i = 0; i < kEntries; ++i) staging[i] = i * 3;
    cudaGraph_t graph;
    CUDA_CALL_THROW(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    AttentionStep<<<kTokens / 128, 128, 0, stream_>>>(hidden_, kTokens, 300000);
    CUDA_CALL_THROW(cudaMemcpyAsync(decode_offsets_, staging, kEntries * sizeof(int), cudaMemcpyHostToDevice, stream_));
    ConcatKernel<<<kTokens / 128, 128, 0, stream_>>>(decode_offsets_, hidden_, out_, kTokens);
    CUDA_CALL_THROW(cudaStreamEndCapture(stream_, &graph));
    CUDA_CALL_THROW(cudaGraphInstantiate(&exec_, graph, 0));
    CUDA_CALL_THROW(cudaGraphDestroy(graph));
#ifdef FIXED
    retained_.push_back(staging);  // the graph reads it in every replay
#else
    pool_.Put(staging);
#endif
  }
  void Decode() { CUDA_CALL_THROW(cudaGraphLaunch(exec_, stream_)); }

  void Prefill(int request) {
    int* staging = pool_.Get();
    for (int i = 0; i < kEntries; ++i) {
      staging[i] = i * 7 + request;
    }
    CUDA_CALL_THROW(cudaMemcpyAsync(prefill_offsets_, staging, kEntries * sizeof(int), cudaMemcpyHostToDevice, stream_));
    ConcatKernel<<<kTokens / 128, 128, 0, stream_>>>(prefill_offsets_, hidden_, out_, kTokens);
    CUDA_CALL_THROW(cudaGetLastError());
    CUDA_CALL_THROW(cudaStreamSynchronize(stream_));
    pool_.Put(staging);
  }

 private:
  PinnedPool pool_;
  std::vector<int*> retained_;
  cudaStream_t stream_{};
  cudaGraphExec_t exec_{};
  float *hidden_{}, *out_{};
  int *decode_offsets_{}, *prefill_offsets_{};
};

int main() {
  CudaExecutionProvider ep;
  ep.CaptureDecode();
  for (int request = 0; request < 4; ++request) {
    ep.Decode();
    ep.Prefill(request);
  }
  CUDA_CALL_THROW(cudaDeviceSynchronize());
  std::printf("done\n");
  return 0;
}
