// Cache of polyphase filter tables for the audio resampler. A table is built on the host the first time a
// (rate, taps) pair is asked for and stays on the device until the cache is destroyed.
#include <cuda_runtime.h>

#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace resample {

inline void require(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct FilterTable {
  int phases = 0;
  int taps = 0;
  float* device = nullptr;
  float* staging = nullptr;  // page-locked, kept as long as the table
  cudaEvent_t uploaded = nullptr;
};

class FilterTableCache {
 public:
  FilterTableCache() { require(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking)); }

  ~FilterTableCache() {
    cudaDeviceSynchronize();
    for (auto& kv : tables_) {
      cudaEventDestroy(kv.second->uploaded);
      cudaFreeHost(kv.second->staging);
      cudaFree(kv.second->device);
    }
    cudaStreamDestroy(upload_);
  }

  FilterTableCache(const FilterTableCache&) = delete;
  FilterTableCache& operator=(const FilterTableCache&) = delete;

  // Returns the table for use in `stream`.
  const FilterTable& get(int phases, int taps, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto key = std::make_pair(phases, taps);
    auto it = tables_.find(key);
    if (it != tables_.end()) {
      require(cudaStreamWaitEvent(stream, it->second->uploaded, 0));
      return *it->second;
    }
    auto table = build(phases, taps);
    send(*table);
    require(cudaStreamWaitEvent(stream, table->uploaded, 0));
    return *tables_.emplace(key, std::move(table)).first->second;
  }

 private:
  static std::unique_ptr<FilterTable> build(int phases, int taps) {
    auto table = std::make_unique<FilterTable>();
    table->phases = phases;
    table->taps = taps;
    size_t bytes = sizeof(float) * phases * taps;
    require(cudaMallocHost(&table->staging, bytes));
    require(cudaMalloc(&table->device, bytes));
    require(cudaEventCreateWithFlags(&table->uploaded, cudaEventDisableTiming));
    for (int p = 0; p < phases; ++p) {
      for (int t = 0; t < taps; ++t) {
        float x = t - taps / 2 + static_cast<float>(p) / phases;
        float sinc = x == 0.0f ? 1.0f : std::sin(3.14159265f * x) / (3.14159265f * x);
        float window = 0.5f + 0.5f * std::cos(2.0f * 3.14159265f * x / taps);
        table->staging[p * taps + t] = sinc * window;
      }
    }
    return table;
  }

  void send(FilterTable& table) {
    size_t bytes = sizeof(float) * table.phases * table.taps;
    require(cudaMemcpyAsync(table.device, table.staging, bytes, cudaMemcpyHostToDevice, upload_));
    require(cudaEventRecord(table.uploaded, upload_));
  }

  std::mutex mutex_;
  std::map<std::pair<int, int>, std::unique_ptr<FilterTable>> tables_;
  cudaStream_t upload_ = nullptr;
};

__global__ void polyphase(const float* in, int in_len, float* out, int out_len, float step, const float* table,
                          int phases, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out_len) return;
  float pos = i * step;
  int base = static_cast<int>(pos);
  int phase = static_cast<int>((pos - base) * phases);
  float acc = 0.0f;
  for (int t = 0; t < taps; ++t) {
    int src = min(max(base + t - taps / 2, 0), in_len - 1);
    acc += in[src] * table[phase * taps + t];
  }
  out[i] = acc;
}

// One voice of the mixer. Every voice has its own non-blocking stream and is driven by its own thread.
class Voice {
 public:
  Voice(FilterTableCache& cache, int phases, int taps) : cache_(cache), phases_(phases), taps_(taps) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Voice() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  void render(const float* in, int in_len, float* out, int out_len) {
    const FilterTable& table = cache_.get(phases_, taps_, stream_);
    float step = static_cast<float>(in_len) / out_len;
    polyphase<<<(out_len + 255) / 256, 256, 0, stream_>>>(in, in_len, out, out_len, step, table.device, table.phases,
                                                         table.taps);
    require(cudaGetLastError());
  }

  cudaStream_t stream() const { return stream_; }

 private:
  FilterTableCache& cache_;
  int phases_;
  int taps_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace resample
