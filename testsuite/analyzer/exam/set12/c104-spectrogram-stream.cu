// Streaming spectrogram: frames are windowed on one stream while the previous
// block is reduced to mel bands on another one.

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace mel {

inline void ok(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

__global__ void window_frames(const float* pcm, float* frames, int frame, int hop, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frame * count) return;
  const int f = i / frame, s = i % frame;
  frames[i] = pcm[f * hop + s] * (0.5f - 0.5f * cosf(6.2831853f * s / frame));
}

__global__ void band_energy(const float* frames, int frame, int count, float* bands, int n_bands) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * n_bands) return;
  const int f = i / n_bands, b = i % n_bands;
  float e = 0.0f;
  for (int s = b; s < frame; s += n_bands) e += frames[f * frame + s] * frames[f * frame + s];
  bands[i] = log1pf(e);
}

struct Config {
  int frame = 1024;
  int hop = 256;
  int frames_per_block = 64;
  int bands = 80;
};

class Spectrogram {
 public:
  explicit Spectrogram(const Config& c) : c_(c) {
    ok(cudaStreamCreateWithFlags(&framing_, cudaStreamNonBlocking), "stream");
    ok(cudaStreamCreateWithFlags(&reducing_, cudaStreamNonBlocking), "stream");
    ok(cudaMallocHost(reinterpret_cast<void**>(&staged_), block_samples() * sizeof(float) * kHalves), "staging");
    ok(cudaMalloc(reinterpret_cast<void**>(&bands_), band_values() * sizeof(float)), "bands");
    ok(cudaMallocHost(reinterpret_cast<void**>(&bands_host_), band_values() * sizeof(float)), "bands");
    for (Half& h : halves_) {
      ok(cudaMalloc(reinterpret_cast<void**>(&h.pcm), block_samples() * sizeof(float)), "pcm");
      ok(cudaMalloc(reinterpret_cast<void**>(&h.frames), frame_values() * sizeof(float)), "frames");
      ok(cudaEventCreateWithFlags(&h.framed, cudaEventDisableTiming), "event");
      ok(cudaEventCreateWithFlags(&h.reduced, cudaEventDisableTiming), "event");
    }
  }
  ~Spectrogram() {
    cudaStreamSynchronize(framing_);
    cudaStreamSynchronize(reducing_);
    for (Half& h : halves_) {
      cudaFree(h.pcm);
      cudaFree(h.frames);
      cudaEventDestroy(h.framed);
      cudaEventDestroy(h.reduced);
    }
    cudaFree(bands_);
    cudaFreeHost(bands_host_);
    cudaFreeHost(staged_);
    cudaStreamDestroy(framing_);
    cudaStreamDestroy(reducing_);
  }
  Spectrogram(const Spectrogram&) = delete;
  Spectrogram& operator=(const Spectrogram&) = delete;

  size_t block_samples() const { return static_cast<size_t>(c_.frames_per_block - 1) * c_.hop + c_.frame; }

  // Queues one block; the samples may be reused when the call returns.
  void push(const std::vector<float>& pcm) {
    if (pcm.size() != block_samples()) throw std::length_error("block size");
    Half& h = halves_[active_];
    stage(h, pcm);
    frame(h);
    reduce(h);
    active_ ^= 1;
  }

  // Bands of the newest block.
  std::vector<float> bands() {
    ok(cudaMemcpyAsync(bands_host_, bands_, band_values() * sizeof(float), cudaMemcpyDeviceToHost, reducing_), "bands");
    ok(cudaStreamSynchronize(reducing_), "bands");
    return std::vector<float>(bands_host_, bands_host_ + band_values());
  }

 private:
  static constexpr int kHalves = 2;
  struct Half {
    float* pcm = nullptr;
    float* frames = nullptr;
    cudaEvent_t framed = nullptr;
    cudaEvent_t reduced = nullptr;
  };

  size_t frame_values() const { return static_cast<size_t>(c_.frame) * c_.frames_per_block; }
  size_t band_values() const { return static_cast<size_t>(c_.bands) * c_.frames_per_block; }

  void stage(Half& h, const std::vector<float>& pcm) {
    float* slot = staged_ + active_ * block_samples();
    ok(cudaEventSynchronize(h.framed), "previous upload");
    for (size_t i = 0; i < pcm.size(); ++i) slot[i] = pcm[i];
    ok(cudaMemcpyAsync(h.pcm, slot, pcm.size() * sizeof(float), cudaMemcpyHostToDevice, framing_), "upload");
  }

  void frame(Half& h) {
    ok(cudaStreamWaitEvent(framing_, h.reduced, 0), "wait");
    window_frames<<<static_cast<unsigned>((frame_values() + 255) / 256), 256, 0, framing_>>>(h.pcm, h.frames, c_.frame, c_.hop,
                                                                                             c_.frames_per_block);
    ok(cudaGetLastError(), "window_frames");
    ok(cudaEventRecord(h.framed, framing_), "record");
  }

  void reduce(Half& h) {
    ok(cudaStreamWaitEvent(reducing_, h.framed, 0), "wait");
    band_energy<<<static_cast<unsigned>((band_values() + 127) / 128), 128, 0, reducing_>>>(h.frames, c_.frame,
                                                                                           c_.frames_per_block, bands_, c_.bands);
    ok(cudaGetLastError(), "band_energy");
    ok(cudaEventRecord(h.reduced, reducing_), "record");
  }

  Config c_;
  cudaStream_t framing_ = nullptr, reducing_ = nullptr;
  float* staged_ = nullptr;
  float* bands_ = nullptr;
  float* bands_host_ = nullptr;
  Half halves_[kHalves];
  int active_ = 0;
};

}  // namespace mel
