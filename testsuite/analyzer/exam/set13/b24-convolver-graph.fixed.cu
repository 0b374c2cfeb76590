// Uniformly partitioned convolution reverb. One audio block is one replay of a
// captured graph; the history of input spectra grows with the impulse response.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace reverb {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kBlock = 512;

__global__ void pushHistory(const float* in, float* history, int partitions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kBlock) return;
  for (int p = partitions - 1; p > 0; --p) history[p * kBlock + i] = history[(p - 1) * kBlock + i];
  history[i] = in[i];
}

__global__ void mixPartitions(const float* history, const float* impulse, float* out,
                              int partitions) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kBlock) return;
  float acc = 0.f;
  for (int p = 0; p < partitions; ++p) acc += history[p * kBlock + i] * impulse[p * kBlock + i];
  out[i] = acc;
}

class DeviceFloats {
 public:
  DeviceFloats() = default;
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  ~DeviceFloats() { cudaFree(data_); }

  // Contents are lost; returns whether the memory moved.
  bool grow(std::size_t n) {
    if (n <= size_) return false;
    ok(cudaFree(data_));
    data_ = nullptr;
    size_ = 0;
    ok(cudaMalloc(&data_, n * sizeof(float)));
    size_ = n;
    return true;
  }
  float* get() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  float* data_ = nullptr;
  std::size_t size_ = 0;
};

class Convolver {
 public:
  Convolver() {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMallocHost(&in_, kBlock * sizeof(float)));
    ok(cudaMallocHost(&out_, kBlock * sizeof(float)));
    deviceIn_.grow(kBlock);
    deviceOut_.grow(kBlock);
  }

  ~Convolver() {
    cudaStreamSynchronize(stream_);
    dropGraph();
    cudaFreeHost(out_);
    cudaFreeHost(in_);
    cudaStreamDestroy(stream_);
  }

  Convolver(const Convolver&) = delete;
  Convolver& operator=(const Convolver&) = delete;

  // May be called between two blocks.
  void loadImpulse(const std::vector<float>& response) {
    const int partitions = static_cast<int>((response.size() + kBlock - 1) / kBlock);
    const std::size_t n = std::size_t(partitions) * kBlock;
    ok(cudaStreamSynchronize(stream_));
    dropGraph();
    impulse_.grow(n);
    history_.grow(n);
    ok(cudaMemsetAsync(impulse_.get(), 0, n * sizeof(float), stream_));
    ok(cudaMemsetAsync(history_.get(), 0, n * sizeof(float), stream_));
    ok(cudaMemcpyAsync(impulse_.get(), response.data(), response.size() * sizeof(float),
                       cudaMemcpyHostToDevice, stream_));
    ok(cudaStreamSynchronize(stream_));
    partitions_ = partitions;
  }

  void process(const float* block, float* result) {
    if (exec_ == nullptr) capture();
    for (int i = 0; i < kBlock; ++i) in_[i] = block[i];
    ok(cudaGraphLaunch(exec_, stream_));
    ok(cudaStreamSynchronize(stream_));
    for (int i = 0; i < kBlock; ++i) result[i] = out_[i];
  }

 private:
  void capture() {
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    ok(cudaMemcpyAsync(deviceIn_.get(), in_, kBlock * sizeof(float), cudaMemcpyHostToDevice, stream_));
    pushHistory<<<kBlock / 128, 128, 0, stream_>>>(deviceIn_.get(), history_.get(), partitions_);
    mixPartitions<<<kBlock / 128, 128, 0, stream_>>>(history_.get(), impulse_.get(),
                                                     deviceOut_.get(), partitions_);
    ok(cudaMemcpyAsync(out_, deviceOut_.get(), kBlock * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    ok(cudaStreamEndCapture(stream_, &graph));
    ok(cudaGraphInstantiate(&exec_, graph, 0));
    ok(cudaGraphDestroy(graph));
  }

  void dropGraph() {
    if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  int partitions_ = 0;
  float* in_ = nullptr;
  float* out_ = nullptr;
  DeviceFloats deviceIn_;
  DeviceFloats deviceOut_;
  DeviceFloats impulse_;
  DeviceFloats history_;
};

// Auditions a short room and then a hall on the same engine.
std::vector<float> audition(const std::vector<float>& room, const std::vector<float>& hall,
                            const std::vector<float>& dry) {
  Convolver engine;
  std::vector<float> wet(dry.size());
  const std::size_t half = dry.size() / kBlock / 2 * kBlock;
  engine.loadImpulse(room);
  for (std::size_t i = 0; i < half; i += kBlock) engine.process(&dry[i], &wet[i]);
  engine.loadImpulse(hall);
  for (std::size_t i = half; i + kBlock <= dry.size(); i += kBlock) engine.process(&dry[i], &wet[i]);
  return wet;
}

}  // namespace reverb
