// Data-loading pipeline: outputs are handed to the framework by an asynchronous copy on the user's stream.
// Modelled on NVIDIA/DALI#3950.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

inline void CudaCall(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "copy_to_external.cu:%d %s\n", line, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define CUDA_CALL(...) CudaCall((__VA_ARGS__), __LINE__)

constexpr size_t kBatchBytes = size_t(48) << 20;

__global__ void DecodeAndNormalize(float4* out, size_t n, int iter) {
  size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += step) {
    float v = float((i + iter * 7919) & 255) / 255.f;
    out[i] = make_float4(v, v * v, 1 - v, float(iter));
  }
}

struct OutputBatch {
  float4* data{};
  cudaEvent_t ready{};
};

class Pipeline {
 public:
  Pipeline() {
    CUDA_CALL(cudaStreamCreateWithFlags(&gpu_stage_, cudaStreamNonBlocking));
    CUDA_CALL(cudaEventCreateWithFlags(&external_, cudaEventDisableTiming));
    CUDA_CALL(cudaMalloc(&batch_.data, kBatchBytes));
    CUDA_CALL(cudaEventCreateWithFlags(&batch_.ready, cudaEventDisableTiming));
    free_.push_back(&batch_);
  }
  ~Pipeline() {
    cudaStreamSynchronize(gpu_stage_);
    cudaFree(batch_.data);
    cudaEventDestroy(batch_.ready), cudaEventDestroy(external_);
    cudaStreamDestroy(gpu_stage_);
  }
  void ScheduleRun() {
    OutputBatch* out = free_.front();
    free_.pop_front();
    DecodeAndNormalize<<<264, 256, 0, gpu_stage_>>>(out->data, kBatchBytes / sizeof(float4), iter_++);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(out->ready, gpu_stage_));
    pending_.push_back(out);
  }
  // Asynchronous: the caller's stream sees the data, the host does not wait.
  void CopyToExternal(void* dst, cudaMemcpyKind kind, cudaStream_t user) {
    OutputBatch* out = pending_.front();
    CUDA_CALL(cudaStreamWaitEvent(user, out->ready, 0));
    CUDA_CALL(cudaMemcpyAsync(dst, out->data, kBatchBytes, kind, user));
#ifdef FIXED
    CUDA_CALL(cudaEventRecord(external_, user));
    CUDA_CALL(cudaStreamWaitEvent(gpu_stage_, external_, 0));
#endif
  }
  void ReleaseOutputs() {
    free_.push_back(pending_.front());
    pending_.pop_front();
  }

 private:
  cudaStream_t gpu_stage_{};
  cudaEvent_t external_{};
  OutputBatch batch_;
  std::deque<OutputBatch*> free_, pending_;
  int iter_ = 0;
};

int main() {
  constexpr int kIters = 4;
  cudaStream_t torch_stream;
  CUDA_CALL(cudaStreamCreateWithFlags(&torch_stream, cudaStreamNonBlocking));
  std::vector<float4*> tensors(kIters);
  for (auto& t : tensors) CUDA_CALL(cudaMallocHost(&t, kBatchBytes));
  {
    Pipeline pipe;
    for (int i = 0; i < kIters; ++i) {
      pipe.ScheduleRun();
      pipe.CopyToExternal(tensors[i], cudaMemcpyDeviceToHost, torch_stream);
      pipe.ReleaseOutputs();
    }
    CUDA_CALL(cudaStreamSynchronize(torch_stream));
  }
  for (int i = 0; i < kIters; ++i)
    std::printf("batch %d carries iteration %.0f\n", i, tensors[i][kBatchBytes / sizeof(float4) - 1].w);
  for (auto t : tensors) CUDA_CALL(cudaFreeHost(t));
  CUDA_CALL(cudaStreamDestroy(torch_stream));
  return 0;
}
