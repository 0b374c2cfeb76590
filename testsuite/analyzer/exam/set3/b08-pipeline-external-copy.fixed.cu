#include <cuda_runtime.h>

#include <deque>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace dali {

#define CUDA_CALL(code)                                                         \
  do {                                                                          \
    cudaError_t status_ = (code);                                               \
    if (status_ != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status_)); \
  } while (0)

class CUDAEvent {
 public:
  static CUDAEvent Create() {
    CUDAEvent e;
    CUDA_CALL(cudaEventCreateWithFlags(&e.ev_, cudaEventDisableTiming));
    return e;
  }
  CUDAEvent() = default;
  CUDAEvent(CUDAEvent &&o) noexcept : ev_(o.ev_) { o.ev_ = nullptr; }
  CUDAEvent &operator=(CUDAEvent &&o) noexcept { std::swap(ev_, o.ev_); return *this; }
  ~CUDAEvent() { if (ev_) cudaEventDestroy(ev_); }
  operator cudaEvent_t() const { return ev_; }

 private:
  cudaEvent_t ev_ = nullptr;
};

struct Output {
  float *data = nullptr;
  size_t size = 0;
  CUDAEvent ready;
};

__global__ void NormalizeKernel(float *out, size_t n, float mean, int iter) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = (iter - mean) / (1.f + i);
}

class Pipeline {
 public:
  Pipeline(size_t sample_volume, int prefetch_depth) {
    CUDA_CALL(cudaStreamCreateWithFlags(&stage_stream_, cudaStreamNonBlocking));
    external_done_ = CUDAEvent::Create();
    for (int i = 0; i < prefetch_depth; i++) {
      auto o = std::make_unique<Output>();
      o->size = sample_volume;
      o->ready = CUDAEvent::Create();
      CUDA_CALL(cudaMalloc(&o->data, sample_volume * sizeof(float)));
      free_.push_back(std::move(o));
    }
  }

  ~Pipeline() {
    cudaStreamSynchronize(stage_stream_);
    for (auto *q : {&free_, &ready_})
      for (auto &o : *q) cudaFree(o->data);
    cudaStreamDestroy(stage_stream_);
  }

  /// Schedules one iteration; it is an error if no output slot is free.
  void Run() {
    if (free_.empty()) throw std::logic_error("No free output; call ReleaseOutputs first.");
    auto out = std::move(free_.front());
    free_.pop_front();
    int blocks = (out->size + 255) / 256;
    NormalizeKernel<<<blocks, 256, 0, stage_stream_>>>(out->data, out->size, 0.5f, iter_++);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaEventRecord(out->ready, stage_stream_));
    ready_.push_back(std::move(out));
  }

  /// Copies the oldest output to a user-supplied buffer in the user's stream.
  void CopyToExternal(float *dst, cudaStream_t user_stream) {
    Output &out = *ready_.front();
    CUDA_CALL(cudaStreamWaitEvent(user_stream, out.ready, 0));
    CUDA_CALL(cudaMemcpyAsync(dst, out.data, out.size * sizeof(float), cudaMemcpyDeviceToDevice, user_stream));
    CUDA_CALL(cudaEventRecord(external_done_, user_stream));
    CUDA_CALL(cudaStreamWaitEvent(stage_stream_, external_done_, 0));
  }

  void ReleaseOutputs() {
    free_.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }

 private:
  cudaStream_t stage_stream_ = nullptr;
  CUDAEvent external_done_;
  std::deque<std::unique_ptr<Output>> free_, ready_;
  int iter_ = 0;
};

}  // namespace dali

int main() {
  constexpr size_t kVolume = 3 * 1080 * 1920;
  cudaStream_t user;
  CUDA_CALL(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking));
  std::vector<float *> batches(8);
  for (auto &b : batches) CUDA_CALL(cudaMalloc(&b, kVolume * sizeof(float)));
  {
    dali::Pipeline pipe(kVolume, 1);
    for (auto *dst : batches) {
      pipe.Run();
      pipe.CopyToExternal(dst, user);
      pipe.ReleaseOutputs();
    }
    CUDA_CALL(cudaStreamSynchronize(user));
  }
  for (auto *b : batches) CUDA_CALL(cudaFree(b));
  CUDA_CALL(cudaStreamDestroy(user));
  return 0;
}
