// Convolution reverb: an ingest stage fills one of two block buffers while the convolver works on the other.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define REVERB_CHECK(e)                                                                  \
  do {                                                                                   \
    if (cudaError_t rc = (e); rc != cudaSuccess) {                                       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));   \
      std::abort();                                                                      \
    }                                                                                    \
  } while (0)

namespace reverb {

constexpr int kBlock = 1 << 14;
constexpr int kImpulse = 2048;

__global__ void synthesize(float* block, int n, int index) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) block[i] = __sinf(0.01f * (i + index * n));
}

__global__ void convolve(const float* block, const float* impulse, float* out, int n, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < taps && t <= i; ++t) acc += block[i - t] * impulse[t];
  out[i] = acc;
}

__global__ void decay(float* impulse, int taps) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < taps) impulse[t] = __expf(-0.003f * t);
}

struct Slot {
  float* samples = nullptr;
  cudaEvent_t filled{};
  cudaEvent_t consumed{};
};

struct PipelineState {
  cudaStream_t ingest{};
  cudaStream_t convolver{};
  std::array<Slot, 2> slots;
  float* impulse = nullptr;
  float* out = nullptr;

  PipelineState() {
    for (cudaStream_t* s : {&ingest, &convolver}) REVERB_CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (auto& slot : slots) {
      REVERB_CHECK(cudaMalloc(&slot.samples, kBlock * sizeof(float)));
      REVERB_CHECK(cudaEventCreateWithFlags(&slot.filled, cudaEventDisableTiming));
      REVERB_CHECK(cudaEventCreateWithFlags(&slot.consumed, cudaEventDisableTiming));
    }
    REVERB_CHECK(cudaMalloc(&impulse, kImpulse * sizeof(float)));
    REVERB_CHECK(cudaMalloc(&out, kBlock * sizeof(float)));
  }
  PipelineState(const PipelineState&) = delete;
  ~PipelineState() {
    cudaDeviceSynchronize();
    for (auto& slot : slots) {
      cudaFree(slot.samples);
      cudaEventDestroy(slot.filled);
      cudaEventDestroy(slot.consumed);
    }
    cudaFree(impulse);
    cudaFree(out);
    cudaStreamDestroy(ingest);
    cudaStreamDestroy(convolver);
  }
  Slot& slot(int index) { return slots[index % slots.size()]; }
};

class IngestStage {
 public:
  void run(PipelineState& st, int index) {
    Slot& slot = st.slot(index);
    // Nothing has been recorded for the first two blocks: then the slot is free anyway.
    REVERB_CHECK(cudaStreamWaitEvent(st.ingest, slot.consumed, 0));
    synthesize<<<kBlock / 256, 256, 0, st.ingest>>>(slot.samples, kBlock, index);
    REVERB_CHECK(cudaGetLastError());
    REVERB_CHECK(cudaEventRecord(slot.filled, st.ingest));
  }
};

class ConvolveStage {
 public:
  void prepare(PipelineState& st) {
    decay<<<kImpulse / 256, 256, 0, st.convolver>>>(st.impulse, kImpulse);
    REVERB_CHECK(cudaGetLastError());
  }
  void run(PipelineState& st, int index) {
    Slot& slot = st.slot(index);
    REVERB_CHECK(cudaStreamWaitEvent(st.convolver, slot.filled, 0));
    convolve<<<kBlock / 128, 128, 0, st.convolver>>>(slot.samples, st.impulse, st.out, kBlock, kImpulse);
    REVERB_CHECK(cudaGetLastError());
    REVERB_CHECK(cudaEventRecord(slot.consumed, st.convolver));
  }
};

}  // namespace reverb

int main() {
  reverb::PipelineState state;
  reverb::IngestStage ingest;
  reverb::ConvolveStage convolver;
  convolver.prepare(state);
  for (int block = 0; block < 64; ++block) {
    ingest.run(state, block);
    convolver.run(state, block);
  }
  std::vector<float> last(reverb::kBlock);
  REVERB_CHECK(cudaMemcpyAsync(last.data(), state.out, last.size() * sizeof(float), cudaMemcpyDeviceToHost,
                               state.convolver));
  REVERB_CHECK(cudaStreamSynchronize(state.convolver));
  std::printf("%f\n", last.back());
  return 0;
}
