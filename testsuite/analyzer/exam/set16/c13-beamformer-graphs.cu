// Sonar beamformer: one executable graph per channel count; a scratch buffer that grows is shared by them.
#include <cuda_runtime.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sonar {

inline void sonarCheck(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void delayChannels(const float* in, float* delayed, int channels, int samples) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (i < samples) delayed[c * samples + i] = i >= c ? in[c * samples + i - c] : 0.f;
}

__global__ void sumChannels(const float* delayed, float* beam, int channels, int samples) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  float acc = 0.f;
  for (int c = 0; c < channels; ++c) acc += delayed[c * samples + i];
  beam[i] = acc / channels;
}

class GraphExec {
 public:
  GraphExec() = default;
  explicit GraphExec(cudaGraph_t graph) { sonarCheck(cudaGraphInstantiate(&exec_, graph, 0)); }
  GraphExec(GraphExec&& o) noexcept : exec_(std::exchange(o.exec_, nullptr)) {}
  GraphExec& operator=(GraphExec&& o) noexcept {
    std::swap(exec_, o.exec_);
    return *this;
  }
  ~GraphExec() {
    if (exec_) cudaGraphExecDestroy(exec_);
  }
  void launch(cudaStream_t stream) const { sonarCheck(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// Scratch whose users are told before the storage goes away.
class SharedScratch {
 public:
  using Listener = std::function<void()>;

  explicit SharedScratch(cudaStream_t stream) : stream_(stream) {}
  ~SharedScratch() {
    cudaStreamSynchronize(stream_);
    cudaFree(data_);
  }
  SharedScratch(const SharedScratch&) = delete;
  SharedScratch& operator=(const SharedScratch&) = delete;

  void onRelease(Listener listener) { listeners_.push_back(std::move(listener)); }

  float* reserve(size_t floats) {
    if (floats > capacity_) {
      sonarCheck(cudaStreamSynchronize(stream_));
      for (auto& notify : listeners_) notify();
      sonarCheck(cudaFree(data_));
      data_ = nullptr;
      sonarCheck(cudaMalloc(reinterpret_cast<void**>(&data_), floats * sizeof(float)));
      capacity_ = floats;
    }
    return data_;
  }

 private:
  cudaStream_t stream_;
  float* data_ = nullptr;
  size_t capacity_ = 0;
  std::vector<Listener> listeners_;
};

/// The arrays of one array geometry; they outlive the beamformer.
struct HydrophoneArray {
  const float* channelsData;
  float* beam;
  int channels;
  int samples;
};

class Beamformer {
 public:
  explicit Beamformer(cudaStream_t stream) : stream_(stream), scratch_(stream) {
    scratch_.onRelease([this] { graphs_.clear(); });
  }
  Beamformer(const Beamformer&) = delete;
  Beamformer& operator=(const Beamformer&) = delete;

  void form(const HydrophoneArray& array) {
    float* delayed = scratch_.reserve(size_t(array.channels) * array.samples);
    auto it = graphs_.find(key(array));
    if (it == graphs_.end()) it = graphs_.emplace(key(array), record(array, delayed)).first;
    it->second.launch(stream_);
  }

 private:
  using Key = std::pair<const float*, float*>;
  static Key key(const HydrophoneArray& a) { return {a.channelsData, a.beam}; }

  GraphExec record(const HydrophoneArray& a, float* delayed) {
    cudaGraph_t graph = nullptr;
    const dim3 grid((a.samples + 255) / 256, a.channels);
    sonarCheck(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    delayChannels<<<grid, 256, 0, stream_>>>(a.channelsData, delayed, a.channels, a.samples);
    sumChannels<<<grid.x, 256, 0, stream_>>>(delayed, a.beam, a.channels, a.samples);
    sonarCheck(cudaStreamEndCapture(stream_, &graph));
    GraphExec exec(graph);
    sonarCheck(cudaGraphDestroy(graph));
    return exec;
  }

  cudaStream_t stream_;
  SharedScratch scratch_;
  std::map<Key, GraphExec> graphs_;
};

/// Forms the beams of both arrays for every ping and waits for the last one.
void processPings(const HydrophoneArray& hull, const HydrophoneArray& towed, int pings, cudaStream_t stream) {
  Beamformer beamformer(stream);
  for (int p = 0; p < pings; ++p) {
    beamformer.form(hull);
    beamformer.form(towed);
  }
  sonarCheck(cudaStreamSynchronize(stream));
}

}  // namespace sonar
