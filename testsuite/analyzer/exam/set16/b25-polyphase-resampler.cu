// Sample-rate converter: a polyphase FIR whose coefficient tables are cached per ratio.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

namespace resample {

struct CudaFailure : std::runtime_error {
  explicit CudaFailure(cudaError_t code) : std::runtime_error(cudaGetErrorString(code)) {}
};

inline void ensure(cudaError_t code) {
  if (code != cudaSuccess) throw CudaFailure(code);
}

using Ratio = std::pair<int, int>;  // up, down

template <class T>
class PinnedBlock {
 public:
  explicit PinnedBlock(size_t n) : size_(n) { ensure(cudaMallocHost(reinterpret_cast<void**>(&data_), n * sizeof(T))); }
  ~PinnedBlock() { cudaFreeHost(data_); }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  const T* data() const { return data_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t size_;
};

/// Windowed-sinc filter for one ratio. The host copy stays for inspection and re-upload.
class FilterBank {
 public:
  static constexpr int kTaps = 32;

  explicit FilterBank(Ratio ratio) : ratio_(ratio), host_(size_t(ratio.first) * kTaps) {
    const double cutoff = 1.0 / std::max(ratio.first, ratio.second);
    for (int phase = 0; phase < ratio.first; ++phase)
      for (int tap = 0; tap < kTaps; ++tap) {
        const double t = (tap - kTaps / 2) + double(phase) / ratio.first;
        const double x = M_PI * t * cutoff;
        const double sinc = std::abs(x) < 1e-9 ? 1.0 : std::sin(x) / x;
        const double window = 0.5 + 0.5 * std::cos(2 * M_PI * t / kTaps);
        host_[size_t(phase) * kTaps + tap] = float(sinc * window * cutoff);
      }
    ensure(cudaMalloc(reinterpret_cast<void**>(&device_), host_.bytes()));
    upload();
  }
  ~FilterBank() { cudaFree(device_); }
  FilterBank(const FilterBank&) = delete;
  FilterBank& operator=(const FilterBank&) = delete;

  const float* coefficients() const { return device_; }
  Ratio ratio() const { return ratio_; }

 private:
  void upload() { ensure(cudaMemcpyAsync(device_, host_.data(), host_.bytes(), cudaMemcpyHostToDevice)); }

  Ratio ratio_;
  PinnedBlock<float> host_;
  float* device_ = nullptr;
};

class FilterCache {
 public:
  static FilterCache& instance() {
    static FilterCache cache;
    return cache;
  }

  const FilterBank& get(Ratio ratio) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = banks_.find(ratio);
    if (it == banks_.end()) it = banks_.emplace(ratio, std::make_unique<FilterBank>(ratio)).first;
    return *it->second;
  }

 private:
  std::mutex mutex_;
  std::map<Ratio, std::unique_ptr<FilterBank>> banks_;
};

__global__ void polyphase(const float* in, int inFrames, float* out, int outFrames, const float* taps, int up, int down) {
  int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outFrames) return;
  long long pos = (long long)o * down;
  int phase = int(pos % up);
  int base = int(pos / up) - FilterBank::kTaps / 2;
  float acc = 0.f;
  for (int t = 0; t < FilterBank::kTaps; ++t) {
    int i = base + t;
    if (i >= 0 && i < inFrames) acc += in[i] * taps[phase * FilterBank::kTaps + t];
  }
  out[o] = acc;
}

/// One per playback channel; channels run independently of each other.
class Channel {
 public:
  explicit Channel(int maxFrames) {
    ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ensure(cudaMalloc(reinterpret_cast<void**>(&in_), maxFrames * sizeof(float)));
    ensure(cudaMalloc(reinterpret_cast<void**>(&out_), 8 * maxFrames * sizeof(float)));
  }
  ~Channel() {
    cudaStreamSynchronize(stream_);
    cudaFree(in_);
    cudaFree(out_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Blocks until `output` is filled. Returns the number of frames written.
  int process(const float* input, int frames, float* output, Ratio ratio) {
    const FilterBank& bank = FilterCache::instance().get(ratio);
    const int outFrames = int((long long)frames * ratio.first / ratio.second);
    ensure(cudaMemcpyAsync(in_, input, frames * sizeof(float), cudaMemcpyHostToDevice, stream_));
    polyphase<<<(outFrames + 127) / 128, 128, 0, stream_>>>(in_, frames, out_, outFrames, bank.coefficients(),
                                                            ratio.first, ratio.second);
    ensure(cudaGetLastError());
    ensure(cudaMemcpyAsync(output, out_, outFrames * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ensure(cudaStreamSynchronize(stream_));
    return outFrames;
  }

 private:
  cudaStream_t stream_{};
  float* in_ = nullptr;
  float* out_ = nullptr;
};

}  // namespace resample
