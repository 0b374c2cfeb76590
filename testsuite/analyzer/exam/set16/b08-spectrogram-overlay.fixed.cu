// Live spectrogram: magnitudes are computed on the audio stream and drawn on the UI stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace audio {

inline void throwOnError(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}
#define AUDIO_CUDA(x) ::audio::throwOnError((x), #x)

// Move-only buffer from the stream-ordered allocator.
template <typename T>
class AsyncBuffer {
 public:
  AsyncBuffer(size_t n, cudaStream_t stream) : stream_(stream), n_(n) {
    AUDIO_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), stream));
  }
  AsyncBuffer(AsyncBuffer&& o) noexcept : stream_(o.stream_), n_(o.n_), p_(std::exchange(o.p_, nullptr)) {}
  AsyncBuffer& operator=(AsyncBuffer&&) = delete;
  ~AsyncBuffer() {
    if (p_) cudaFreeAsync(p_, stream_);
  }

  T* data() { return p_; }
  const T* data() const { return p_; }
  size_t size() const { return n_; }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
  size_t n_;
  T* p_ = nullptr;
};

__global__ void binPower(const float* samples, float* power, int bins, int window) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bins) return;
  float re = 0.f, im = 0.f;
  for (int t = 0; t < window; ++t) {
    float s, c;
    sincospif(2.f * b * t / window, &s, &c);
    re += samples[t] * c;
    im -= samples[t] * s;
  }
  power[b] = log10f(re * re + im * im + 1e-12f);
}

__global__ void drawColumn(uchar4* canvas, int pitch, int column, const float* power, int bins) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bins) return;
  unsigned char v = static_cast<unsigned char>(fminf(fmaxf(32.f * power[b] + 128.f, 0.f), 255.f));
  canvas[(bins - 1 - b) * pitch + column] = make_uchar4(v, v / 2, 255 - v, 255);
}

class SpectrogramView {
 public:
  SpectrogramView(int bins, int columns) : bins_(bins), columns_(columns) {
    AUDIO_CUDA(cudaStreamCreateWithFlags(&analysis_, cudaStreamNonBlocking));
    AUDIO_CUDA(cudaStreamCreateWithFlags(&ui_, cudaStreamNonBlocking));
    AUDIO_CUDA(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming));
    AUDIO_CUDA(cudaEventCreateWithFlags(&drawn_, cudaEventDisableTiming));
    AUDIO_CUDA(cudaMalloc(reinterpret_cast<void**>(&canvas_), sizeof(uchar4) * bins * columns));
    AUDIO_CUDA(cudaMemsetAsync(canvas_, 0, sizeof(uchar4) * bins * columns, ui_));
  }

  ~SpectrogramView() {
    cudaStreamSynchronize(analysis_);
    cudaStreamSynchronize(ui_);
    cudaFree(canvas_);
    cudaEventDestroy(computed_);
    cudaEventDestroy(drawn_);
    cudaStreamDestroy(ui_);
    cudaStreamDestroy(analysis_);
  }

  SpectrogramView(const SpectrogramView&) = delete;
  SpectrogramView& operator=(const SpectrogramView&) = delete;

  // Adds one column for the window of samples that was written on analysisStream().
  void append(const float* samples, int window) {
    AsyncBuffer<float> power = analyse(samples, window);
    AUDIO_CUDA(cudaEventRecord(computed_, analysis_));
    AUDIO_CUDA(cudaStreamWaitEvent(ui_, computed_, 0));
    draw(power);
    AUDIO_CUDA(cudaEventRecord(drawn_, ui_));
    AUDIO_CUDA(cudaStreamWaitEvent(analysis_, drawn_, 0));
    next_ = (next_ + 1) % columns_;
  }

  cudaStream_t analysisStream() const { return analysis_; }

 private:
  AsyncBuffer<float> analyse(const float* samples, int window) {
    AsyncBuffer<float> power(bins_, analysis_);
    binPower<<<(bins_ + 127) / 128, 128, 0, analysis_>>>(samples, power.data(), bins_, window);
    AUDIO_CUDA(cudaGetLastError());
    return power;
  }

  void draw(const AsyncBuffer<float>& power) {
    drawColumn<<<(bins_ + 127) / 128, 128, 0, ui_>>>(canvas_, columns_, next_, power.data(), bins_);
    AUDIO_CUDA(cudaGetLastError());
  }

  int bins_, columns_, next_ = 0;
  cudaStream_t analysis_{}, ui_{};
  cudaEvent_t computed_{};
  cudaEvent_t drawn_{};
  uchar4* canvas_ = nullptr;
};

}  // namespace audio
