// Streaming speech denoiser: the network is replayed as a graph, results are drained on a second stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define GUARD(x)                                                                    \
  do {                                                                              \
    const cudaError_t g_ = (x);                                                     \
    if (g_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "[denoise] %s: %s\n", #x, cudaGetErrorString(g_));       \
      std::exit(3);                                                                 \
    }                                                                               \
  } while (0)

constexpr int kBlockSamples = 48000;

__global__ void spectral_gate(const float* in, float* hidden, int n, float floor_level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) hidden[i] = fabsf(in[i]) > floor_level ? in[i] : 0.1f * in[i];
}

__global__ void smooth(const float* hidden, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int d = -4; d <= 4; ++d) acc += hidden[min(max(i + d, 0), n - 1)];
  out[i] = acc / 9.f;
}

__global__ void synth(float* in, int n, int block) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) in[i] = __sinf(0.01f * (i + block * n));
}

class GraphedDenoiser {
 public:
  GraphedDenoiser() {
    GUARD(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    GUARD(cudaEventCreateWithFlags(&produced_, cudaEventDisableTiming));
    for (float** p : {&input_, &hidden_, &output_}) GUARD(cudaMalloc(p, kBlockSamples * sizeof(float)));
    capture();
  }
  ~GraphedDenoiser() {
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec_);
    for (float* p : {input_, hidden_, output_}) cudaFree(p);
    cudaEventDestroy(produced_);
    cudaStreamDestroy(compute_);
  }
  GraphedDenoiser(const GraphedDenoiser&) = delete;
  GraphedDenoiser& operator=(const GraphedDenoiser&) = delete;

  using Source = std::function<void(float* input, cudaStream_t)>;

  void step(const Source& source) {
    source(input_, compute_);
    GUARD(cudaGraphLaunch(exec_, compute_));
    GUARD(cudaEventRecord(produced_, compute_));
  }

  void after(cudaEvent_t consumed) { GUARD(cudaStreamWaitEvent(compute_, consumed, 0)); }

  const float* output() const { return output_; }
  cudaEvent_t produced() const { return produced_; }

 private:
  void capture() {
    cudaGraph_t graph;
    constexpr int kGrid = (kBlockSamples + 255) / 256;
    GUARD(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeGlobal));
    spectral_gate<<<kGrid, 256, 0, compute_>>>(input_, hidden_, kBlockSamples, 0.2f);
    smooth<<<kGrid, 256, 0, compute_>>>(hidden_, output_, kBlockSamples);
    GUARD(cudaStreamEndCapture(compute_, &graph));
    GUARD(cudaGraphInstantiate(&exec_, graph, 0));
    GUARD(cudaGraphDestroy(graph));
  }

  cudaStream_t compute_ = nullptr;
  cudaEvent_t produced_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float *input_ = nullptr, *hidden_ = nullptr, *output_ = nullptr;
};

// Collects the blocks of a whole recording on the device.
class Writer {
 public:
  explicit Writer(int blocks) {
    GUARD(cudaStreamCreateWithFlags(&drain_, cudaStreamNonBlocking));
    GUARD(cudaEventCreateWithFlags(&taken_, cudaEventDisableTiming));
    GUARD(cudaMalloc(&recording_, size_t(blocks) * kBlockSamples * sizeof(float)));
  }
  ~Writer() {
    cudaStreamSynchronize(drain_);
    cudaFree(recording_);
    cudaEventDestroy(taken_);
    cudaStreamDestroy(drain_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void take(GraphedDenoiser& net) {
    GUARD(cudaStreamWaitEvent(drain_, net.produced(), 0));
    GUARD(cudaMemcpyAsync(recording_ + size_t(next_++) * kBlockSamples, net.output(), kBlockSamples * sizeof(float),
                          cudaMemcpyDeviceToDevice, drain_));
    GUARD(cudaEventRecord(taken_, drain_));
    net.after(taken_);
  }

  std::vector<float> finish() {
    std::vector<float> host(size_t(next_) * kBlockSamples);
    GUARD(cudaMemcpyAsync(host.data(), recording_, host.size() * sizeof(float), cudaMemcpyDeviceToHost, drain_));
    GUARD(cudaStreamSynchronize(drain_));
    return host;
  }

 private:
  cudaStream_t drain_ = nullptr;
  cudaEvent_t taken_ = nullptr;
  float* recording_ = nullptr;
  int next_ = 0;
};

int main() {
  constexpr int kBlocks = 60;
  GraphedDenoiser net;
  Writer writer(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    net.step([b](float* in, cudaStream_t s) {
      synth<<<(kBlockSamples + 255) / 256, 256, 0, s>>>(in, kBlockSamples, b);
      GUARD(cudaGetLastError());
    });
    writer.take(net);
  }
  const auto audio = writer.finish();
  std::printf("%zu samples, last %f\n", audio.size(), audio.back());
  return 0;
}
