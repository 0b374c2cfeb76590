// A bank of FIR filters for a software radio.  Retuning a channel sends its new taps and
// gains in one batched copy.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace sdr {

static inline void must(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}

__global__ void fir(const float* in, float* out, int n, const float* taps, int ntaps, const float* gain) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int k = 0; k < ntaps; ++k) acc += i >= k ? taps[k] * in[i - k] : 0.0f;
  out[i] = acc * gain[0];
}

// Collects copies and submits them with one call.
class CopyBatch {
 public:
  template <typename T>
  void add(T* dst, const std::vector<T>& src) {
    dsts_.push_back(dst);
    srcs_.push_back(src.data());
    sizes_.push_back(src.size() * sizeof(T));
  }

  void submit(cudaStream_t stream) {
    if (dsts_.empty()) return;
    cudaMemcpyAttributes attributes = hostSource();
    std::size_t first = 0;
    must(cudaMemcpyBatchAsync(dsts_.data(), srcs_.data(), sizes_.data(), dsts_.size(), &attributes,
                              &first, 1, stream),
         "cudaMemcpyBatchAsync");
  }

 private:
  static cudaMemcpyAttributes hostSource() {
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
    return attributes;
  }

  std::vector<void*> dsts_;
  std::vector<const void*> srcs_;
  std::vector<std::size_t> sizes_;
};

std::vector<float> lowPass(float cutoff, int ntaps) {
  std::vector<float> taps(ntaps);
  const float middle = 0.5f * static_cast<float>(ntaps - 1);
  for (int k = 0; k < ntaps; ++k) {
    const float t = static_cast<float>(k) - middle;
    const float window = 0.54f - 0.46f * std::cos(6.2831853f * k / (ntaps - 1));
    taps[k] = window * (t == 0.0f ? 2.0f * cutoff : std::sin(6.2831853f * cutoff * t) / (3.1415927f * t));
  }
  return taps;
}

class Channel {
 public:
  static constexpr int kTaps = 513;

  Channel() {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    must(cudaMalloc(reinterpret_cast<void**>(&taps_), kTaps * sizeof(float)), "taps");
    must(cudaMalloc(reinterpret_cast<void**>(&gain_), sizeof(float)), "gain");
  }
  ~Channel() {
    cudaStreamSynchronize(stream_);
    cudaFree(gain_);
    cudaFree(taps_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void retune(float cutoff, float gainDb) {
    const std::vector<float> taps = lowPass(cutoff, kTaps);
    const std::vector<float> gain(1, std::pow(10.0f, gainDb / 20.0f));
    CopyBatch batch;
    batch.add(taps_, taps);
    batch.add(gain_, gain);
    batch.submit(stream_);
  }

  // Samples are on the device; the output is complete after drain().
  void process(const float* in, float* out, int n) {
    fir<<<(n + 255) / 256, 256, 0, stream_>>>(in, out, n, taps_, kTaps, gain_);
    must(cudaGetLastError(), "fir");
  }

  void drain() { must(cudaStreamSynchronize(stream_), "drain"); }

 private:
  cudaStream_t stream_ = nullptr;
  float* taps_ = nullptr;
  float* gain_ = nullptr;
};

// Sweeps a channel over a band while the recorder plays.
void scanBand(const float* in, const std::vector<float*>& outputs, int n, float low, float high) {
  Channel channel;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    channel.retune(low + (high - low) * static_cast<float>(i) / outputs.size(), -3.0f);
    channel.process(in, outputs[i], n);
  }
  channel.drain();
}

}  // namespace sdr
