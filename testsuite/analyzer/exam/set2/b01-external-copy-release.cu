// Output stage of a frame pipeline: normalises decoded frames and hands them
// to the consumer on a stream of the consumer's choice.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#define CUDA_CALL(expr)                                        \
  do {                                                         \
    cudaError_t status_ = (expr);                              \
    if (status_ != cudaSuccess)                                \
      throw std::runtime_error(cudaGetErrorString(status_));   \
  } while (0)

namespace framepipe {

__global__ void NormalizeFrame(const uint8_t *in, float *out, int n, float mean, float inv_std) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (static_cast<float>(in[i]) - mean) * inv_std;
}

class OutputStage {
 public:
  explicit OutputStage(int pixels) : pixels_(pixels) {
    CUDA_CALL(cudaStreamCreateWithFlags(&stage_stream_, cudaStreamNonBlocking));
    CUDA_CALL(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    CUDA_CALL(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
    CUDA_CALL(cudaMalloc(&in_, pixels_));
    CUDA_CALL(cudaMalloc(&out_, pixels_ * sizeof(float)));
  }

  ~OutputStage() {
    cudaEventSynchronize(consumed_);
    cudaStreamSynchronize(stage_stream_);
    cudaFree(out_);
    cudaFree(in_);
    cudaEventDestroy(consumed_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stage_stream_);
  }

  OutputStage(const OutputStage &) = delete;
  OutputStage &operator=(const OutputStage &) = delete;

  void Feed(const uint8_t *frame) {
    CUDA_CALL(cudaMemcpyAsync(in_, frame, pixels_, cudaMemcpyHostToDevice, stage_stream_));
    CUDA_CALL(cudaStreamSynchronize(stage_stream_));
  }

  void RunIteration(float mean, float stddev) {
    int blocks = (pixels_ + 255) / 256;
    NormalizeFrame<<<blocks, 256, 0, stage_stream_>>>(in_, out_, pixels_, mean, 1.f / stddev);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(ready_, stage_stream_));
  }

  // The copy is stream-ordered in `user`; the caller does not have to wait for it.
  void CopyToExternal(float *dst, cudaStream_t user) {
    CUDA_CALL(cudaStreamWaitEvent(user, ready_, 0));
    CUDA_CALL(cudaMemcpyAsync(dst, out_, pixels_ * sizeof(float), cudaMemcpyDeviceToDevice, user));
    CUDA_CALL(cudaEventRecord(consumed_, user));
  }

 private:
  int pixels_;
  cudaStream_t stage_stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  cudaEvent_t consumed_ = nullptr;
  uint8_t *in_ = nullptr;
  float *out_ = nullptr;
};

void FillBatch(OutputStage &stage, const std::vector<const uint8_t *> &frames, float *batch,
               size_t stride, cudaStream_t user) {
  for (size_t i = 0; i < frames.size(); i++) {
    stage.Feed(frames[i]);
    stage.RunIteration(127.5f, 58.f);
    stage.CopyToExternal(batch + i * stride, user);
  }
}

}  // namespace framepipe
