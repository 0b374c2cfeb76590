// Seismic stacking: shots are gathered in one half of a double buffer while the other half is stacked.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void must(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(EXIT_FAILURE);
}
#define MUST(x) must((x), __LINE__)

struct Survey {
  int samples = 2048;
  int tracesPerGather = 24;
  int gathers = 40;
};

__global__ void stackGather(const float* gather, int traces, int samples, float* section) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= samples) return;
  float acc = 0.f;
  for (int t = 0; t < traces; ++t) acc += gather[t * samples + s];
  section[s] += acc / traces;
}

class GatherStacker {
 public:
  explicit GatherStacker(const Survey& s) : survey_(s) {
    MUST(cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&stack_, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming));
    for (int h = 0; h < 2; ++h) {
      MUST(cudaMalloc(&half_[h], gatherBytes()));
      MUST(cudaEventCreateWithFlags(&stacked_[h], cudaEventDisableTiming));
    }
    MUST(cudaMalloc(&section_, sizeof(float) * s.samples));
    MUST(cudaMemsetAsync(section_, 0, sizeof(float) * s.samples, stack_));
  }

  ~GatherStacker() {
    MUST(cudaStreamSynchronize(load_));
    MUST(cudaStreamSynchronize(stack_));
    for (int h = 0; h < 2; ++h) {
      MUST(cudaFree(half_[h]));
      MUST(cudaEventDestroy(stacked_[h]));
    }
    MUST(cudaFree(section_));
    MUST(cudaEventDestroy(loaded_));
    MUST(cudaStreamDestroy(load_));
    MUST(cudaStreamDestroy(stack_));
  }

  GatherStacker(const GatherStacker&) = delete;
  GatherStacker& operator=(const GatherStacker&) = delete;

  void addTrace(const float* trace) {
    float* dst = half_[active_] + static_cast<size_t>(filled_) * survey_.samples;
    MUST(cudaMemcpyAsync(dst, trace, sizeof(float) * survey_.samples, cudaMemcpyHostToDevice, load_));
    ++filled_;
  }

  // Hands the current half to the stacking stream and switches to the other one.
  void stackCurrent() {
    MUST(cudaEventRecord(loaded_, load_));
    MUST(cudaStreamWaitEvent(stack_, loaded_, 0));
    stackGather<<<(survey_.samples + 127) / 128, 128, 0, stack_>>>(half_[active_], filled_,
                                                                   survey_.samples, section_);
    MUST(cudaGetLastError());
    MUST(cudaEventRecord(stacked_[active_], stack_));
    active_ ^= 1;
    MUST(cudaStreamWaitEvent(load_, stacked_[active_], 0));
  }

  // Start of a new gather.
  void clear() {
    filled_ = 0;
    active_ = 0;
  }

  int filled() const { return filled_; }

  void download(std::vector<float>& out) {
    out.resize(survey_.samples);
    MUST(cudaMemcpyAsync(out.data(), section_, sizeof(float) * out.size(), cudaMemcpyDeviceToHost,
                         stack_));
    MUST(cudaStreamSynchronize(stack_));
  }

 private:
  size_t gatherBytes() const {
    return sizeof(float) * survey_.samples * static_cast<size_t>(survey_.tracesPerGather);
  }

  Survey survey_;
  cudaStream_t load_ = nullptr;
  cudaStream_t stack_ = nullptr;
  cudaEvent_t loaded_ = nullptr;
  cudaEvent_t stacked_[2] = {};
  float* half_[2] = {};
  float* section_ = nullptr;
  int active_ = 0;
  int filled_ = 0;
};

static void synthesize(float* traces, const Survey& s) {
  for (int t = 0; t < s.tracesPerGather; ++t)
    for (int i = 0; i < s.samples; ++i)
      traces[t * s.samples + i] = std::sin(0.01f * i * (t + 1));
}

int main() {
  const Survey survey;
  float* traces = nullptr;
  MUST(cudaMallocHost(&traces, sizeof(float) * survey.samples * survey.tracesPerGather));
  synthesize(traces, survey);

  std::vector<float> section;
  {
    GatherStacker stacker(survey);
    for (int g = 0; g < survey.gathers; ++g) {
      stacker.clear();
      while (stacker.filled() < survey.tracesPerGather)
        stacker.addTrace(traces + static_cast<size_t>(stacker.filled()) * survey.samples);
      stacker.stackCurrent();
    }
    stacker.download(section);
  }
  std::printf("section[1] = %f, section[last] = %f\n", section[1], section.back());
  MUST(cudaFreeHost(traces));
  return 0;
}
