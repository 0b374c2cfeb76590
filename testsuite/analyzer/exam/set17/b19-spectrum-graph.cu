// Power spectra of radar pulses, replayed as a CUDA graph: a pulse is small and launch
// overhead would dominate.  The number of pulses per burst may grow from burst to burst.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace radar {

inline void expect(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define EXPECT(x) ::radar::expect((x), #x)

constexpr int kSamples = 512;

__global__ void windowPulses(const float* pulses, float* work, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * kSamples) {
    float w = 0.5f - 0.5f * cosf(6.2831853f * static_cast<float>(i % kSamples) / kSamples);
    work[i] = w * pulses[i];
  }
}

__global__ void integrate(const float* work, float* spectrum, int count) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= kSamples) return;
  float sum = 0.0f;
  for (int p = 0; p < count; ++p) sum += work[p * kSamples + s] * work[p * kSamples + s];
  spectrum[s] = sum;
}

class Workspace {
 public:
  ~Workspace() { cudaFree(data_); }
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  float* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

  // Nothing may use the old memory any more.
  void resize(std::size_t count) {
    EXPECT(cudaFree(data_));
    data_ = nullptr;
    EXPECT(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(float)));
    capacity_ = count;
  }

 private:
  float* data_ = nullptr;
  std::size_t capacity_ = 0;
};

class PulseProcessor {
 public:
  // `pulses` has room for maxPulses pulses; pulses and spectrum outlive the processor.
  PulseProcessor(const float* pulses, float* spectrum) : pulses_(pulses), spectrum_(spectrum) {
    EXPECT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~PulseProcessor() {
    cudaStreamSynchronize(stream_);
    drop();
    cudaStreamDestroy(stream_);
  }
  PulseProcessor(const PulseProcessor&) = delete;
  PulseProcessor& operator=(const PulseProcessor&) = delete;

  // The usual burst, integrated with the recorded graph.
  void burst() {
    if (!exec_) record(kBurst);
    EXPECT(cudaGraphLaunch(exec_, stream_));
  }

  // A burst of any length, for the calibration mode.
  void longBurst(int count) {
    reserve(count);
    enqueue(count);
  }

  void finish() { EXPECT(cudaStreamSynchronize(stream_)); }

 private:
  static constexpr int kBurst = 16;

  void reserve(int count) {
    const std::size_t need = static_cast<std::size_t>(count) * kSamples;
    if (need <= workspace_.capacity()) return;
    EXPECT(cudaStreamSynchronize(stream_));
    workspace_.resize(need);
  }

  void enqueue(int count) {
    windowPulses<<<(count * kSamples + 255) / 256, 256, 0, stream_>>>(pulses_, workspace_.data(), count);
    EXPECT(cudaGetLastError());
    integrate<<<kSamples / 128, 128, 0, stream_>>>(workspace_.data(), spectrum_, count);
    EXPECT(cudaGetLastError());
  }

  void record(int count) {
    reserve(count);
    cudaGraph_t graph = nullptr;
    EXPECT(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue(count);
    EXPECT(cudaStreamEndCapture(stream_, &graph));
    EXPECT(cudaGraphInstantiate(&exec_, graph, 0));
    EXPECT(cudaGraphDestroy(graph));
  }

  void drop() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  const float* pulses_;
  float* spectrum_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  Workspace workspace_;
};

// One calibration burst after every `interval` usual bursts.
void observe(const float* pulses, float* spectrum, int bursts, int interval, int maxPulses) {
  PulseProcessor processor(pulses, spectrum);
  int length = 32;
  for (int b = 0; b < bursts; ++b) {
    processor.burst();
    if (b % interval == interval - 1) {
      processor.longBurst(std::min(length, maxPulses));
      length *= 2;
    }
  }
  processor.finish();
}

}  // namespace radar
