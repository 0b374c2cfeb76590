// Raman spectra processing: baseline removal and line fitting. Buffers are stream-ordered; a buffer belongs to the stream on
// which it was made. Fits of different samples run on the fit streams.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace raman {

class CudaError : public std::runtime_error {
 public:
  explicit CudaError(cudaError_t code) : std::runtime_error(cudaGetErrorString(code)) {}
};

inline void require(cudaError_t code) {
  if (code != cudaSuccess) throw CudaError(code);
}

class SpectrumBuffer {
 public:
  SpectrumBuffer(std::size_t bins, cudaStream_t stream) : bins_(bins), stream_(stream) {
    require(cudaMallocAsync(reinterpret_cast<void**>(&data_), bins * sizeof(float), stream));
  }
  ~SpectrumBuffer() {
    if (data_) cudaFreeAsync(data_, stream_);
  }
  SpectrumBuffer(SpectrumBuffer&& other) noexcept
      : bins_(other.bins_), stream_(other.stream_), data_(std::exchange(other.data_, nullptr)) {}
  SpectrumBuffer& operator=(SpectrumBuffer&&) = delete;
  SpectrumBuffer(const SpectrumBuffer&) = delete;

  float* data() const { return data_; }
  std::size_t bins() const { return bins_; }
  cudaStream_t stream() const { return stream_; }

  // The stream on which the memory will be given back.
  void set_stream(cudaStream_t stream) { stream_ = stream; }

 private:
  std::size_t bins_;
  cudaStream_t stream_;
  float* data_ = nullptr;
};

__global__ void subtract_baseline(const float* raw, float* clean, int n, int window) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float lowest = raw[i];
  for (int k = -window; k <= window; ++k) {
    const int j = min(max(i + k, 0), n - 1);
    lowest = fminf(lowest, raw[j]);
  }
  clean[i] = raw[i] - lowest;
}

__global__ void fit_lines(const float* clean, const float* centres, float* amplitudes, int n, int lines) {
  const int line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  float acc = 0.f;
  for (int i = 0; i < n; ++i) {
    const float d = i - centres[line];
    acc += clean[i] * expf(-0.5f * d * d);
  }
  amplitudes[line] = acc;
}

// Makes one stream follow another.
class StreamLink {
 public:
  StreamLink() { require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~StreamLink() { cudaEventDestroy(event_); }
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;

  void join(cudaStream_t from, cudaStream_t to) {
    require(cudaEventRecord(event_, from));
    require(cudaStreamWaitEvent(to, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class LineFitter {
 public:
  LineFitter(int fit_streams, std::size_t lines) : lines_(lines), fit_streams_(fit_streams) {
    require(cudaStreamCreateWithFlags(&prepare_, cudaStreamNonBlocking));
    for (cudaStream_t& s : fit_streams_) require(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    require(cudaMalloc(reinterpret_cast<void**>(&centres_), lines * sizeof(float)));
    require(cudaMemsetAsync(centres_, 0, lines * sizeof(float), prepare_));
    require(cudaStreamSynchronize(prepare_));
  }
  ~LineFitter() {
    cudaDeviceSynchronize();
    cudaFree(centres_);
    for (cudaStream_t s : fit_streams_) cudaStreamDestroy(s);
    cudaStreamDestroy(prepare_);
  }
  LineFitter(const LineFitter&) = delete;
  LineFitter& operator=(const LineFitter&) = delete;

  // raw: device memory that is ready; amplitudes: device memory, complete after wait().
  void fit(std::size_t sample, const float* raw, std::size_t bins, float* amplitudes) {
    const cudaStream_t stream = fit_streams_[sample % fit_streams_.size()];
    SpectrumBuffer clean = prepare(raw, bins);
    link_.join(prepare_, stream);
    fit_lines<<<static_cast<unsigned>((lines_ + 63) / 64), 64, 0, stream>>>(clean.data(), centres_, amplitudes,
                                                                           static_cast<int>(bins), static_cast<int>(lines_));
    require(cudaGetLastError());
  }

  void fit_all(const std::vector<const float*>& raw, std::size_t bins, float* amplitudes) {
    for (std::size_t i = 0; i < raw.size(); ++i) fit(i, raw[i], bins, amplitudes + i * lines_);
    wait();
  }

  void wait() {
    for (cudaStream_t s : fit_streams_) require(cudaStreamSynchronize(s));
  }

 private:
  SpectrumBuffer prepare(const float* raw, std::size_t bins) {
    SpectrumBuffer clean(bins, prepare_);
    subtract_baseline<<<static_cast<unsigned>((bins + 255) / 256), 256, 0, prepare_>>>(raw, clean.data(),
                                                                                      static_cast<int>(bins), 24);
    require(cudaGetLastError());
    return clean;
  }

  std::size_t lines_;
  std::vector<cudaStream_t> fit_streams_;
  cudaStream_t prepare_ = nullptr;
  float* centres_ = nullptr;
  StreamLink link_;
};

}  // namespace raman
