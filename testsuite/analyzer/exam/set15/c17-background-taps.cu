// Background blur of the conference client. Filter taps live in constant memory in a few slots; a participant's stream uses the
// slot it has been handed for the frame.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define BLUR_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(rc_));                   \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kTaps = 64;
constexpr int kSlots = 4;

__constant__ float c_taps[kSlots][kTaps];

__global__ void blur_row(const float* in, float* out, int pixels, int slot) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  float acc = 0.f;
  for (int t = 0; t < kTaps; ++t) acc += c_taps[slot][t] * in[(i + t) % pixels];
  out[i] = acc;
}

class TapSlots {
 public:
  TapSlots() {
    for (Slot& slot : slots_) {
      BLUR_CHECK(cudaMallocHost(&slot.taps, kTaps * sizeof(float)));
      BLUR_CHECK(cudaEventCreateWithFlags(&slot.idle, cudaEventDisableTiming));
    }
  }
  ~TapSlots() {
    for (Slot& slot : slots_) {
      cudaEventSynchronize(slot.idle);
      cudaEventDestroy(slot.idle);
      cudaFreeHost(slot.taps);
    }
  }
  TapSlots(const TapSlots&) = delete;
  TapSlots& operator=(const TapSlots&) = delete;

  // Calls launch(slot) with the taps in place.
  template <typename Launch>
  void with_gaussian(float sigma, cudaStream_t stream, Launch&& launch) {
    const int index = next_++ % kSlots;
    Slot& slot = slots_[index];
    BLUR_CHECK(cudaEventSynchronize(slot.idle));
    float sum = 0.f;
    for (int t = 0; t < kTaps; ++t) sum += slot.taps[t] = std::exp(-0.5f * t * t / (sigma * sigma));
    for (int t = 0; t < kTaps; ++t) slot.taps[t] /= sum;
    BLUR_CHECK(cudaMemcpyToSymbolAsync(c_taps, slot.taps, kTaps * sizeof(float), index * kTaps * sizeof(float),
                                       cudaMemcpyHostToDevice, stream));
    launch(index);
    BLUR_CHECK(cudaEventRecord(slot.idle, stream));
  }

 private:
  struct Slot {
    float* taps = nullptr;
    cudaEvent_t idle = nullptr;
  };
  std::array<Slot, kSlots> slots_;
  int next_ = 0;
};

class Participant {
 public:
  explicit Participant(int pixels) : pixels_(pixels) {
    BLUR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    BLUR_CHECK(cudaMalloc(&frame_, pixels * sizeof(float)));
    BLUR_CHECK(cudaMalloc(&blurred_, pixels * sizeof(float)));
    BLUR_CHECK(cudaMemsetAsync(frame_, 0, pixels * sizeof(float), stream_));
  }
  ~Participant() {
    cudaStreamSynchronize(stream_);
    cudaFree(blurred_);
    cudaFree(frame_);
    cudaStreamDestroy(stream_);
  }
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;

  void blur(TapSlots& slots, float sigma) {
    slots.with_gaussian(sigma, stream_, [this](int slot) {
      blur_row<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(frame_, blurred_, pixels_, slot);
      BLUR_CHECK(cudaGetLastError());
    });
  }

 private:
  int pixels_;
  cudaStream_t stream_ = nullptr;
  float* frame_ = nullptr;
  float* blurred_ = nullptr;
};

int main() {
  TapSlots slots;
  std::vector<std::unique_ptr<Participant>> people;
  for (int i = 0; i < 9; ++i) people.push_back(std::make_unique<Participant>(640 * 360));
  for (int frame = 0; frame < 120; ++frame) {
    for (auto& person : people) person->blur(slots, 2.f + 0.05f * frame);
  }
  return 0;
}
