// Mel front-end for a speech service. Filter banks depend on the sample rate
// and the number of bands; they are built once and shared by all sessions.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#define CU_OK(call)                                                              \
  do {                                                                           \
    cudaError_t e_ = (call);                                                     \
    if (e_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::abort();                                                              \
    }                                                                            \
  } while (0)

struct FilterBank {
  int bands = 0;
  int bins = 0;
  float* host = nullptr;    // page-locked master copy
  float* device = nullptr;  // bands x bins, row major

  FilterBank(int b, int n) : bands(b), bins(n) {
    CU_OK(cudaMallocHost(&host, bytes()));
    CU_OK(cudaMalloc(&device, bytes()));
  }
  ~FilterBank() {
    cudaFree(device);
    cudaFreeHost(host);
  }
  FilterBank(const FilterBank&) = delete;
  FilterBank& operator=(const FilterBank&) = delete;
  size_t bytes() const { return sizeof(float) * bands * bins; }
};

static float melToHz(float mel) { return 700.0f * (std::pow(10.0f, mel / 2595.0f) - 1.0f); }

static void fillTriangles(FilterBank& bank, float sampleRate) {
  const float top = 2595.0f * std::log10(1.0f + sampleRate / 1400.0f);
  for (int b = 0; b < bank.bands; ++b) {
    const float lo = melToHz(top * b / (bank.bands + 1));
    const float mid = melToHz(top * (b + 1) / (bank.bands + 1));
    const float hi = melToHz(top * (b + 2) / (bank.bands + 1));
    for (int k = 0; k < bank.bins; ++k) {
      const float f = 0.5f * sampleRate * k / (bank.bins - 1);
      float w = f < mid ? (f - lo) / (mid - lo) : (hi - f) / (hi - mid);
      bank.host[b * bank.bins + k] = w > 0.0f ? w : 0.0f;
    }
  }
}

// Process-wide; entries live until the process ends.
class FilterBankCache {
 public:
  static FilterBankCache& instance() {
    static FilterBankCache* cache = new FilterBankCache;
    return *cache;
  }

  const FilterBank& get(int sampleRate, int bands, int bins) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& entry = banks_[std::make_tuple(sampleRate, bands, bins)];
    if (!entry) {
      auto bank = std::make_unique<FilterBank>(bands, bins);
      fillTriangles(*bank, static_cast<float>(sampleRate));
      upload(*bank);
      entry = std::move(bank);
    }
    return *entry;
  }

 private:
  static void upload(FilterBank& bank) {
    CU_OK(cudaMemcpyAsync(bank.device, bank.host, bank.bytes(), cudaMemcpyHostToDevice));
    CU_OK(cudaStreamSynchronize(nullptr));
  }

  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, std::unique_ptr<FilterBank>> banks_;
};

__global__ void applyBank(const float* weights, const float* power, float* mel, int bins) {
  const int band = blockIdx.x;
  float acc = 0.0f;
  for (int k = threadIdx.x; k < bins; k += warpSize) acc += weights[band * bins + k] * power[k];
  for (int d = warpSize / 2; d > 0; d /= 2) acc += __shfl_down_sync(0xffffffffu, acc, d);
  if (threadIdx.x == 0) mel[band] = logf(acc + 1e-6f);
}

// One per connected caller; every session owns its stream.
class MelSession {
 public:
  MelSession(int sampleRate, int bands, int bins) : rate_(sampleRate), bands_(bands), bins_(bins) {
    CU_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU_OK(cudaMalloc(&power_, sizeof(float) * bins_));
    CU_OK(cudaMalloc(&mel_, sizeof(float) * bands_));
  }
  ~MelSession() {
    cudaStreamSynchronize(stream_);
    cudaFree(mel_);
    cudaFree(power_);
    cudaStreamDestroy(stream_);
  }
  MelSession(const MelSession&) = delete;
  MelSession& operator=(const MelSession&) = delete;

  // Both host buffers are page-locked; blocks until `mel` is valid.
  void frame(const float* power, float* mel) {
    const FilterBank& bank = FilterBankCache::instance().get(rate_, bands_, bins_);
    CU_OK(cudaMemcpyAsync(power_, power, sizeof(float) * bins_, cudaMemcpyHostToDevice, stream_));
    applyBank<<<bands_, 32, 0, stream_>>>(bank.device, power_, mel_, bins_);
    CU_OK(cudaGetLastError());
    CU_OK(cudaMemcpyAsync(mel, mel_, sizeof(float) * bands_, cudaMemcpyDeviceToHost, stream_));
    CU_OK(cudaStreamSynchronize(stream_));
  }

 private:
  int rate_, bands_, bins_;
  cudaStream_t stream_ = nullptr;
  float* power_ = nullptr;
  float* mel_ = nullptr;
};
