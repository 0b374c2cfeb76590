// Two-device video pipeline: decode on one device, colour grading on the other, frames go through two peer slots.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define MUST(x)                                                                          \
  do {                                                                                   \
    cudaError_t m_ = (x);                                                                \
    if (m_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(m_));   \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kPixels = 1920 * 1080;
constexpr size_t kBytes = kPixels * sizeof(float);

__global__ void decode(float* frame, int number) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPixels) frame[i] = float((i + number * 17) & 255) / 255.f;
}

__global__ void grade(const float* frame, float* graded, float gamma) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPixels) graded[i] += __powf(frame[i], gamma);
}

// Makes a device current for a scope.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    MUST(cudaGetDevice(&previous_));
    MUST(cudaSetDevice(device));
  }
  ~OnDevice() { cudaSetDevice(previous_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int previous_ = 0;
};

struct Slot {
  float* frame = nullptr;          // on the consumer's device
  cudaEvent_t filled = nullptr;    // of the producer's device
  cudaEvent_t drained = nullptr;   // of the consumer's device
};

class Pipeline {
 public:
  Pipeline(int producer, int consumer) : producer_(producer), consumer_(consumer) {
    {
      OnDevice on(producer_);
      MUST(cudaStreamCreateWithFlags(&decode_, cudaStreamNonBlocking));
      MUST(cudaMalloc(&local_, kBytes));
      for (auto& s : slots_) MUST(cudaEventCreateWithFlags(&s.filled, cudaEventDisableTiming));
    }
    OnDevice on(consumer_);
    MUST(cudaStreamCreateWithFlags(&grade_, cudaStreamNonBlocking));
    MUST(cudaMalloc(&graded_, kBytes));
    MUST(cudaMemsetAsync(graded_, 0, kBytes, grade_));
    for (auto& s : slots_) {
      MUST(cudaMalloc(&s.frame, kBytes));
      MUST(cudaEventCreateWithFlags(&s.drained, cudaEventDisableTiming));
    }
  }

  ~Pipeline() {
    {
      OnDevice on(producer_);
      cudaStreamSynchronize(decode_);
    }
    OnDevice on(consumer_);
    cudaStreamSynchronize(grade_);
    for (auto& s : slots_) {
      cudaEventDestroy(s.filled);
      cudaEventDestroy(s.drained);
      cudaFree(s.frame);
    }
    cudaFree(graded_);
    cudaFree(local_);
    cudaStreamDestroy(grade_);
    cudaStreamDestroy(decode_);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void frame(int number, float gamma) {
    Slot& slot = slots_[number % slots_.size()];
    produce(slot, number);
    consume(slot, gamma);
  }

  float sample(int pixel) {
    OnDevice on(consumer_);
    float v = 0;
    MUST(cudaMemcpyAsync(&v, graded_ + pixel, sizeof v, cudaMemcpyDeviceToHost, grade_));
    MUST(cudaStreamSynchronize(grade_));
    return v;
  }

 private:
  // The first round of waits finds drained not recorded yet: the slot has had no reader.
  void produce(Slot& slot, int number) {
    OnDevice on(producer_);
    decode<<<(kPixels + 255) / 256, 256, 0, decode_>>>(local_, number);
    MUST(cudaGetLastError());
    MUST(cudaStreamWaitEvent(decode_, slot.drained, 0));
    MUST(cudaMemcpyPeerAsync(slot.frame, consumer_, local_, producer_, kBytes, decode_));
    MUST(cudaEventRecord(slot.filled, decode_));
  }

  void consume(Slot& slot, float gamma) {
    OnDevice on(consumer_);
    MUST(cudaStreamWaitEvent(grade_, slot.filled, 0));
    grade<<<(kPixels + 255) / 256, 256, 0, grade_>>>(slot.frame, graded_, gamma);
    MUST(cudaGetLastError());
    MUST(cudaEventRecord(slot.drained, grade_));
  }

  int producer_, consumer_;
  cudaStream_t decode_ = nullptr, grade_ = nullptr;
  float *local_ = nullptr, *graded_ = nullptr;
  std::array<Slot, 2> slots_;
};

int main() {
  int devices = 0;
  MUST(cudaGetDeviceCount(&devices));
  Pipeline pipeline(0, devices > 1 ? 1 : 0);
  for (int f = 0; f < 240; ++f) pipeline.frame(f, 2.2f);
  std::printf("%f\n", pipeline.sample(4242));
  return 0;
}
