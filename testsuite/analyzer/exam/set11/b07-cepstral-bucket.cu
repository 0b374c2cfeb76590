// Feature extraction for streaming speech recognition. Frames are windowed
// into one half of a double buffer while the filterbank works on the other.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECKED(call)                                                       \
  if (cudaError_t err = (call); err != cudaSuccess) {                       \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); \
    std::exit(1);                                                           \
  }

constexpr int kFrame = 400;
constexpr int kHop = 160;
constexpr int kBands = 40;

__global__ void window_frames(const float* pcm, int first_frame, int frames, float* out) {
  const int f = blockIdx.x;
  if (f >= frames) return;
  const float* src = pcm + (first_frame + f) * kHop;
  for (int i = threadIdx.x; i < kFrame; i += blockDim.x) {
    out[f * kFrame + i] = src[i] * (0.54f - 0.46f * cosf(6.2831853f * i / (kFrame - 1)));
  }
}

__global__ void band_energies(const float* frames, int count, float* energies) {
  const int f = blockIdx.x;
  const int b = threadIdx.x;
  if (f >= count || b >= kBands) return;
  float sum = 0.f;
  for (int i = b * (kFrame / kBands); i < (b + 1) * (kFrame / kBands); ++i) sum += frames[f * kFrame + i] * frames[f * kFrame + i];
  energies[f * kBands + b] = logf(sum + 1e-6f);
}

class FrameBucket {
 public:
  explicit FrameBucket(int capacity) : capacity_(capacity) {
    for (int i = 0; i < 2; ++i) {
      CHECKED(cudaMalloc(reinterpret_cast<void**>(&half_[i]), sizeof(float) * kFrame * capacity));
      CHECKED(cudaEventCreateWithFlags(&filled_[i], cudaEventDisableTiming));
      CHECKED(cudaEventCreateWithFlags(&drained_[i], cudaEventDisableTiming));
    }
  }
  ~FrameBucket() {
    CHECKED(cudaDeviceSynchronize());
    for (int i = 0; i < 2; ++i) {
      CHECKED(cudaFree(half_[i]));
      CHECKED(cudaEventDestroy(filled_[i]));
      CHECKED(cudaEventDestroy(drained_[i]));
    }
  }
  FrameBucket(const FrameBucket&) = delete;
  FrameBucket& operator=(const FrameBucket&) = delete;

  int room() const { return capacity_ - count_; }
  int count() const { return count_; }

  void append(const float* pcm, int first_frame, int frames, cudaStream_t producer) {
    window_frames<<<frames, 128, 0, producer>>>(pcm, first_frame, frames, half_[index_] + count_ * kFrame);
    CHECKED(cudaGetLastError());
    count_ += frames;
  }

  /// Sends the filled half to the consumer and turns to the other one.
  void flush(float* energies, cudaStream_t producer, cudaStream_t consumer) {
    CHECKED(cudaEventRecord(filled_[index_], producer));
    CHECKED(cudaStreamWaitEvent(consumer, filled_[index_], 0));
    band_energies<<<count_, 64, 0, consumer>>>(half_[index_], count_, energies);
    CHECKED(cudaGetLastError());
    CHECKED(cudaEventRecord(drained_[index_], consumer));
    index_ ^= 1;
    CHECKED(cudaStreamWaitEvent(producer, drained_[index_], 0));
  }

  void clear() {
    count_ = 0;
    index_ = 0;
  }

 private:
  int capacity_;
  int count_ = 0;
  int index_ = 0;
  float* half_[2] = {};
  cudaEvent_t filled_[2] = {};
  cudaEvent_t drained_[2] = {};
};

int main() {
  constexpr int kTotalFrames = 6000;
  constexpr int kBucket = 512;
  constexpr int kChunk = 64;

  float* pcm = nullptr;
  float* energies = nullptr;
  CHECKED(cudaMalloc(reinterpret_cast<void**>(&pcm), sizeof(float) * (kTotalFrames * kHop + kFrame)));
  CHECKED(cudaMalloc(reinterpret_cast<void**>(&energies), sizeof(float) * kBands * kTotalFrames));
  CHECKED(cudaMemset(pcm, 0, sizeof(float) * (kTotalFrames * kHop + kFrame)));
  CHECKED(cudaDeviceSynchronize());

  cudaStream_t producer, consumer;
  CHECKED(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  CHECKED(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
  {
    FrameBucket bucket(kBucket);
    int sent = 0;
    for (int frame = 0; frame + kChunk <= kTotalFrames; frame += kChunk) {
      if (bucket.room() < kChunk) {
        const int n = bucket.count();
        bucket.flush(energies + sent * kBands, producer, consumer);
        bucket.clear();
        sent += n;
      }
      bucket.append(pcm, frame, kChunk, producer);
    }
    if (bucket.count() > 0) bucket.flush(energies + sent * kBands, producer, consumer);
  }
  CHECKED(cudaStreamSynchronize(consumer));
  CHECKED(cudaFree(pcm));
  CHECKED(cudaFree(energies));
  CHECKED(cudaStreamDestroy(producer));
  CHECKED(cudaStreamDestroy(consumer));
  return 0;
}
