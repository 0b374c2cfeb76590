// Keyword spotting on a live microphone: the network is replayed as a graph per audio hop.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#define KWS_CHECK(call)                                                               \
  do {                                                                                \
    const cudaError_t e_ = (call);                                                    \
    if (e_ != cudaSuccess)                                                            \
      throw std::runtime_error(std::string(#call " = ") + cudaGetErrorName(e_));      \
  } while (0)

namespace kws {

constexpr int kHop = 8192;
constexpr int kBands = 64;
constexpr int kHistory = 4096;

__global__ void bandEnergy(const int16_t* samples, float* bands) {
  const int band = blockIdx.x;
  float re = 0.f, im = 0.f;
  for (int i = threadIdx.x; i < kHop; i += blockDim.x) {
    const float v = samples[i] * (1.f / 32768.f);
    const float phase = 6.2831853f * (band + 1) * i / kHop;
    re += v * __cosf(phase);
    im += v * __sinf(phase);
  }
  atomicAdd(&bands[band], re * re + im * im);
}

__global__ void scoreHop(const float* bands, const float* weights, float* history,
                         unsigned* hops) {
  __shared__ float part[kBands];
  part[threadIdx.x] = bands[threadIdx.x] * weights[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    float s = 0.f;
    for (int b = 0; b < kBands; ++b) s += part[b];
    history[*hops % kHistory] = s;
    ++*hops;
  }
}

template <typename T>
T* deviceArray(size_t n) {
  void* p = nullptr;
  KWS_CHECK(cudaMalloc(&p, n * sizeof(T)));
  return static_cast<T*>(p);
}

// Page-locked landing zones for the audio driver; a zone is reused when its copy is done.
class HopRing {
 public:
  HopRing() {
    for (Zone& z : zones_) {
      KWS_CHECK(cudaMallocHost(reinterpret_cast<void**>(&z.samples), kHop * sizeof(int16_t)));
      KWS_CHECK(cudaEventCreateWithFlags(&z.copied, cudaEventDisableTiming));
    }
  }
  ~HopRing() {
    for (Zone& z : zones_) {
      cudaEventSynchronize(z.copied);
      cudaEventDestroy(z.copied);
      cudaFreeHost(z.samples);
    }
  }
  // Returns the event behind the copy.
  cudaEvent_t send(const int16_t* pcm, int16_t* device, cudaStream_t stream) {
    Zone& z = zones_[next_++ % zones_.size()];
    KWS_CHECK(cudaEventSynchronize(z.copied));
    std::copy(pcm, pcm + kHop, z.samples);
    KWS_CHECK(cudaMemcpyAsync(device, z.samples, kHop * sizeof(int16_t), cudaMemcpyHostToDevice,
                              stream));
    KWS_CHECK(cudaEventRecord(z.copied, stream));
    return z.copied;
  }

 private:
  struct Zone {
    int16_t* samples = nullptr;
    cudaEvent_t copied = nullptr;
  };
  std::array<Zone, 3> zones_;
  size_t next_ = 0;
};

class Spotter {
 public:
  explicit Spotter(const std::vector<float>& weights)
      : samples_(deviceArray<int16_t>(kHop)), bands_(deviceArray<float>(kBands)),
        weights_(deviceArray<float>(kBands)), history_(deviceArray<float>(kHistory)),
        hops_(deviceArray<unsigned>(1)) {
    if (weights.size() != kBands) throw std::invalid_argument("weights");
    KWS_CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    KWS_CHECK(cudaStreamCreateWithFlags(&infer_, cudaStreamNonBlocking));
    KWS_CHECK(cudaEventCreateWithFlags(&scored_, cudaEventDisableTiming));
    KWS_CHECK(cudaMemsetAsync(hops_, 0, sizeof(unsigned), infer_));
    KWS_CHECK(cudaMemcpyAsync(weights_, weights.data(), kBands * sizeof(float),
                              cudaMemcpyHostToDevice, infer_));
    KWS_CHECK(cudaStreamSynchronize(infer_));
    buildGraph();
  }
  Spotter(const Spotter&) = delete;
  ~Spotter() {
    cudaStreamSynchronize(copy_);
    cudaStreamSynchronize(infer_);
    cudaGraphExecDestroy(exec_);
    cudaEventDestroy(scored_);
    for (void* p : {(void*)samples_, (void*)bands_, (void*)weights_, (void*)history_, (void*)hops_})
      cudaFree(p);
    cudaStreamDestroy(copy_);
    cudaStreamDestroy(infer_);
  }

  // Called by the audio driver for every hop.
  void push(const int16_t* pcm) {
    KWS_CHECK(cudaStreamWaitEvent(copy_, scored_, 0));
    const cudaEvent_t copied = ring_.send(pcm, samples_, copy_);
    KWS_CHECK(cudaStreamWaitEvent(infer_, copied, 0));
    KWS_CHECK(cudaGraphLaunch(exec_, infer_));
    KWS_CHECK(cudaEventRecord(scored_, infer_));
  }

  bool idle() const { return cudaEventQuery(scored_) == cudaSuccess; }

  std::vector<float> history() {
    std::vector<float> out(kHistory);
    KWS_CHECK(cudaMemcpyAsync(out.data(), history_, kHistory * sizeof(float),
                              cudaMemcpyDeviceToHost, infer_));
    KWS_CHECK(cudaStreamSynchronize(infer_));
    return out;
  }

 private:
  void buildGraph() {
    cudaGraph_t graph = nullptr;
    KWS_CHECK(cudaStreamBeginCapture(infer_, cudaStreamCaptureModeThreadLocal));
    KWS_CHECK(cudaMemsetAsync(bands_, 0, kBands * sizeof(float), infer_));
    bandEnergy<<<kBands, 256, 0, infer_>>>(samples_, bands_);
    scoreHop<<<1, kBands, 0, infer_>>>(bands_, weights_, history_, hops_);
    KWS_CHECK(cudaStreamEndCapture(infer_, &graph));
    KWS_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    KWS_CHECK(cudaGraphDestroy(graph));
  }

  int16_t* samples_;
  float *bands_, *weights_, *history_;
  unsigned* hops_;
  cudaStream_t copy_ = nullptr, infer_ = nullptr;
  cudaEvent_t scored_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  HopRing ring_;
};

}  // namespace kws
