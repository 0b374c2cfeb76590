// Precipitation nowcasting: one model step is captured once and replayed for
// every lead time; the forecast fields are archived on a second stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(c)                                                          \
  do {                                                                  \
    if ((c) != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c);      \
      std::abort();                                                     \
    }                                                                   \
  } while (0)

__global__ void smooth(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

__global__ void extrapolate(const float* smoothed, float* field, int n, int shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) field[i] = smoothed[(i + n - shift) % n];
}

/// A step whose buffers are fixed by the capture.
class CapturedStep {
 public:
  CapturedStep(int n, cudaStream_t stream) : n_(n), stream_(stream) {
    for (auto* p : {&field_, &smoothed_, &output_}) {
      TRY(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
      TRY(cudaMemsetAsync(*p, 0, bytes(), stream_));
    }
    TRY(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    capture();
  }
  ~CapturedStep() {
    TRY(cudaStreamSynchronize(stream_));
    TRY(cudaGraphExecDestroy(exec_));
    TRY(cudaEventDestroy(done_));
    for (auto* p : {field_, smoothed_, output_}) TRY(cudaFree(p));
  }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  void replay() {
    TRY(cudaGraphLaunch(exec_, stream_));
    TRY(cudaEventRecord(done_, stream_));
  }

  const float* output() const { return output_; }
  cudaEvent_t done() const { return done_; }
  cudaStream_t stream() const { return stream_; }
  std::size_t bytes() const { return sizeof(float) * n_; }

 private:
  void capture() {
    const int blocks = (n_ + 255) / 256;
    cudaGraph_t graph = nullptr;
    TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    smooth<<<blocks, 256, 0, stream_>>>(field_, smoothed_, n_);
    extrapolate<<<blocks, 256, 0, stream_>>>(smoothed_, output_, n_, 3);
    TRY(cudaMemcpyAsync(field_, output_, bytes(), cudaMemcpyDeviceToDevice, stream_));
    TRY(cudaStreamEndCapture(stream_, &graph));
    TRY(cudaGraphInstantiate(&exec_, graph, 0));
    TRY(cudaGraphDestroy(graph));
  }

  int n_;
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t done_ = nullptr;
  float *field_ = nullptr, *smoothed_ = nullptr, *output_ = nullptr;
};

/// Keeps a copy of every forecast field.
class Archive {
 public:
  Archive(std::size_t bytes, int slots) : slots_(slots) {
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&cloned_, cudaEventDisableTiming));
    for (auto& p : slots_) TRY(cudaMalloc(reinterpret_cast<void**>(&p), bytes));
  }
  ~Archive() {
    TRY(cudaStreamSynchronize(stream_));
    for (auto* p : slots_) TRY(cudaFree(p));
    TRY(cudaEventDestroy(cloned_));
    TRY(cudaStreamDestroy(stream_));
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void store(int slot, const CapturedStep& step) {
    TRY(cudaStreamWaitEvent(stream_, step.done(), 0));
    TRY(cudaMemcpyAsync(slots_[slot], step.output(), step.bytes(), cudaMemcpyDeviceToDevice, stream_));
    TRY(cudaEventRecord(cloned_, stream_));
  }

  /// Work submitted to `stream` after this call follows the last store().
  void hold(cudaStream_t stream) const { TRY(cudaStreamWaitEvent(stream, cloned_, 0)); }

  void wait() const { TRY(cudaEventSynchronize(cloned_)); }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t cloned_ = nullptr;
  std::vector<float*> slots_;
};

int main() {
  constexpr int kCells = 1 << 20;
  constexpr int kLeadTimes = 24;
  cudaStream_t stream = nullptr;
  TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    CapturedStep step(kCells, stream);
    Archive archive(step.bytes(), kLeadTimes);
    for (int lead = 0; lead < kLeadTimes; ++lead) {
      archive.hold(step.stream());
      step.replay();
      archive.store(lead, step);
    }
    archive.wait();
  }
  TRY(cudaStreamDestroy(stream));
  return 0;
}
