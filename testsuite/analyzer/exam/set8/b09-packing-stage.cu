// Feeds spectrometer traces to the GPU. The CPU stage (packing of ragged traces) is queued as host
// function so that the producer thread never blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

inline void require(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
  }
}
#define REQUIRE(x) require((x), __LINE__)

constexpr int kTraces = 64;
constexpr int kSamples = 2048;

using Trace = std::vector<float>;

struct PackJob {
  const Trace* traces;
  float* packed;
};

// Pads every trace to kSamples.
void CUDART_CB packBatch(void* arg) {
  const PackJob& job = *static_cast<PackJob*>(arg);
  for (int t = 0; t < kTraces; ++t) {
    float* row = job.packed + static_cast<size_t>(t) * kSamples;
    const Trace& src = job.traces[t];
    const size_t n = std::min<size_t>(src.size(), kSamples);
    std::copy_n(src.data(), n, row);
    std::fill(row + n, row + kSamples, 0.f);
  }
}

__global__ void accumulatePower(const float* packed, float* power) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kSamples) return;
  float s = 0.f;
  for (int t = 0; t < kTraces; ++t) s += packed[t * kSamples + i] * packed[t * kSamples + i];
  power[i] += s;
}

class Feeder {
 public:
  Feeder() {
    REQUIRE(cudaStreamCreateWithFlags(&pack_, cudaStreamNonBlocking));
    REQUIRE(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    REQUIRE(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    REQUIRE(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    REQUIRE(cudaMallocHost(&host_, bytes()));
    REQUIRE(cudaMalloc(&dev_, bytes()));
    REQUIRE(cudaMalloc(&power_, kSamples * sizeof(float)));
    REQUIRE(cudaMemsetAsync(power_, 0, kSamples * sizeof(float), copy_));
  }
  ~Feeder() {
    cudaStreamSynchronize(pack_);
    cudaStreamSynchronize(copy_);
    cudaFreeHost(host_);
    cudaFree(dev_);
    cudaFree(power_);
    cudaEventDestroy(packed_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(pack_);
    cudaStreamDestroy(copy_);
  }

  // `traces` must stay valid until finish().
  void push(const Trace* traces) {
    stagePack(traces);
    stageUpload();
    stageCompute();
  }

  std::vector<float> finish() {
    std::vector<float> out(kSamples);
    REQUIRE(cudaMemcpyAsync(out.data(), power_, kSamples * sizeof(float), cudaMemcpyDeviceToHost, copy_));
    REQUIRE(cudaStreamSynchronize(copy_));
    jobs_.clear();
    return out;
  }

 private:
  static constexpr size_t bytes() { return sizeof(float) * kTraces * kSamples; }

  void stagePack(const Trace* traces) {
    jobs_.push_back({traces, host_});
    REQUIRE(cudaLaunchHostFunc(pack_, packBatch, &jobs_.back()));
    REQUIRE(cudaEventRecord(packed_, pack_));
  }

  void stageUpload() {
    REQUIRE(cudaStreamWaitEvent(copy_, packed_, 0));
    REQUIRE(cudaMemcpyAsync(dev_, host_, bytes(), cudaMemcpyHostToDevice, copy_));
    REQUIRE(cudaEventRecord(uploaded_, copy_));
  }

  void stageCompute() { accumulatePower<<<kSamples / 128, 128, 0, copy_>>>(dev_, power_); }

  cudaStream_t pack_ = nullptr, copy_ = nullptr;
  cudaEvent_t packed_ = nullptr, uploaded_ = nullptr;
  float* host_ = nullptr;
  float* dev_ = nullptr;
  float* power_ = nullptr;
  std::deque<PackJob> jobs_;  // host functions keep pointers into it
};

int main() {
  std::mt19937 rng(7);
  std::uniform_int_distribution<int> len(100, kSamples);
  std::vector<std::vector<Trace>> run(32);
  for (auto& batch : run) {
    batch.resize(kTraces);
    for (auto& t : batch) t.assign(len(rng), 0.25f);
  }

  Feeder feeder;
  for (const auto& batch : run) feeder.push(batch.data());
  const std::vector<float> power = feeder.finish();
  std::printf("power[0] = %g, power[last] = %g\n", power.front(), power.back());
  return 0;
}
