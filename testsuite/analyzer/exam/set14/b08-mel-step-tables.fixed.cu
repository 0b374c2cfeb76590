// Batched keyword spotting. Every step the host writes the table of active
// utterances and the device kernels look features up through it.
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#define KWS_CHECK(expr)                                               \
  do {                                                                \
    const cudaError_t kws_status = (expr);                            \
    if (kws_status != cudaSuccess)                                    \
      throw std::runtime_error(cudaGetErrorString(kws_status));       \
  } while (0)

namespace kws {

template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(size_t n) : n_(n) {
    KWS_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&p_), n * sizeof(T), cudaHostAllocDefault));
  }
  ~PinnedArray() { cudaFreeHost(p_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T& operator[](size_t i) { return p_[i]; }
  T* data() { return p_; }
  size_t bytes() const { return n_ * sizeof(T); }

 private:
  T* p_ = nullptr;
  size_t n_;
};

struct Utterance {
  int firstFrame;
  int frames;
};

__global__ void scoreKeywords(const int2* table, const float* mel, float* scores, int batch,
                              int bands) {
  int b = blockIdx.x;
  if (b >= batch) return;
  int2 u = table[b];
  float acc = 0.f;
  for (int i = threadIdx.x; i < u.y * bands; i += blockDim.x) acc += mel[u.x * bands + i];
  atomicAdd(&scores[b], acc);
}

class StepTables {
 public:
  explicit StepTables(int maxBatch) : host_(maxBatch) {
    KWS_CHECK(cudaMalloc(reinterpret_cast<void**>(&device_), host_.bytes()));
    KWS_CHECK(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
  }
  ~StepTables() {
    cudaEventDestroy(uploaded_);
    cudaFree(device_);
  }

  // Fills the table for this step and sends it to the device.
  const int2* prepare(const std::vector<Utterance>& active, cudaStream_t stream) {
    KWS_CHECK(cudaEventSynchronize(uploaded_));
    for (size_t i = 0; i < active.size(); ++i)
      host_[i] = make_int2(active[i].firstFrame, active[i].frames);
    KWS_CHECK(cudaMemcpyAsync(device_, host_.data(), active.size() * sizeof(int2),
                              cudaMemcpyHostToDevice, stream));
    KWS_CHECK(cudaEventRecord(uploaded_, stream));
    return device_;
  }

 private:
  PinnedArray<int2> host_;
  int2* device_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

class Spotter {
 public:
  using Scheduler = std::function<bool(int step, std::vector<Utterance>& active)>;

  Spotter(int maxBatch, int bands, const float* mel) : bands_(bands), mel_(mel), tables_(maxBatch) {
    KWS_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    KWS_CHECK(cudaMalloc(reinterpret_cast<void**>(&scores_), maxBatch * sizeof(float)));
    KWS_CHECK(cudaMemsetAsync(scores_, 0, maxBatch * sizeof(float), stream_));
  }
  ~Spotter() {
    cudaStreamSynchronize(stream_);
    cudaFree(scores_);
    cudaStreamDestroy(stream_);
  }

  // The host runs ahead of the device; the scheduler ends the session.
  int run(const Scheduler& next) {
    std::vector<Utterance> active;
    int step = 0;
    while (next(step, active)) {
      launchStep(active);
      ++step;
    }
    KWS_CHECK(cudaStreamSynchronize(stream_));
    return step;
  }

  std::vector<float> scores(int batch) {
    std::vector<float> out(batch);
    KWS_CHECK(cudaMemcpyAsync(out.data(), scores_, batch * sizeof(float), cudaMemcpyDeviceToHost,
                              stream_));
    KWS_CHECK(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void launchStep(const std::vector<Utterance>& active) {
    if (active.empty()) return;
    const int2* table = tables_.prepare(active, stream_);
    const int batch = static_cast<int>(active.size());
    scoreKeywords<<<batch, 128, 0, stream_>>>(table, mel_, scores_, batch, bands_);
    KWS_CHECK(cudaGetLastError());
  }

  int bands_;
  const float* mel_;
  StepTables tables_;
  float* scores_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace kws
