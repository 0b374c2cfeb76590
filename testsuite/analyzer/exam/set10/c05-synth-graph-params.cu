// Modular synthesizer voice: captured once, parameters are patched in page-locked memory between blocks.
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace synth {

inline void cu(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

struct PinnedDeleter {
  void operator()(void* p) const { cudaFreeHost(p); }
};
template <typename T>
using Pinned = std::unique_ptr<T, PinnedDeleter>;

template <typename T>
Pinned<T> make_pinned(size_t n = 1) {
  void* p = nullptr;
  cu(cudaMallocHost(&p, n * sizeof(T)), "pinned");
  return Pinned<T>(static_cast<T*>(p));
}

struct Patch {
  float frequency[16];
  float gain[16];
  float cutoff;
  float phase;
};

__global__ void oscillators(const Patch* patch, float* mix, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int v = 0; v < 16; ++v) acc += patch->gain[v] * __sinf(6.2831853f * patch->frequency[v] * i / rate + patch->phase);
  mix[i] = acc;
}

__global__ void low_pass(const Patch* patch, const float* mix, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float prev = i > 0 ? mix[i - 1] : mix[i];
  out[i] = patch->cutoff * mix[i] + (1.f - patch->cutoff) * prev;
}

class Voice {
 public:
  Voice(int block, float rate) : n_(block), rate_(rate), patch_(make_pinned<Patch>()), audio_(make_pinned<float>(block)) {
    std::memset(patch_.get(), 0, sizeof(Patch));
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    cu(cudaEventCreateWithFlags(&patch_read_, cudaEventDisableTiming), "event");
    cu(cudaEventCreateWithFlags(&rendered_, cudaEventDisableTiming), "event");
    cu(cudaMalloc(&device_patch_, sizeof(Patch)), "patch");
    cu(cudaMalloc(&mix_, block * sizeof(float)), "mix");
    cu(cudaMalloc(&out_, block * sizeof(float)), "out");
    upload_ = capture([&] {
      cu(cudaMemcpyAsync(device_patch_, patch_.get(), sizeof(Patch), cudaMemcpyHostToDevice, stream_), "patch");
    });
    render_ = capture([&] {
      const int grid = (n_ + 127) / 128;
      oscillators<<<grid, 128, 0, stream_>>>(device_patch_, mix_, n_, rate_);
      low_pass<<<grid, 128, 0, stream_>>>(device_patch_, mix_, out_, n_);
      cu(cudaMemcpyAsync(audio_.get(), out_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_), "audio");
    });
  }

  ~Voice() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(render_);
    cudaGraphExecDestroy(upload_);
    cudaFree(out_);
    cudaFree(mix_);
    cudaFree(device_patch_);
    cudaEventDestroy(rendered_);
    cudaEventDestroy(patch_read_);
    cudaStreamDestroy(stream_);
  }
  Voice(const Voice&) = delete;
  Voice& operator=(const Voice&) = delete;

  // Changes the patch; only waits until the previous patch was taken over by the device.
  void set_patch(const Patch& p) {
    cu(cudaEventSynchronize(patch_read_), "previous patch");
    *patch_ = p;
  }

  // Starts the next block. The previous block must have been collected.
  void start() {
    cu(cudaGraphLaunch(upload_, stream_), "upload");
    cu(cudaEventRecord(patch_read_, stream_), "record");
    cu(cudaGraphLaunch(render_, stream_), "render");
    cu(cudaEventRecord(rendered_, stream_), "record");
  }

  void collect(float* dst) {
    cu(cudaEventSynchronize(rendered_), "rendered");
    std::memcpy(dst, audio_.get(), n_ * sizeof(float));
  }

  int block() const { return n_; }

 private:
  template <typename F>
  cudaGraphExec_t capture(F&& body) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cu(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    body();
    cu(cudaStreamEndCapture(stream_, &graph), "capture");
    cu(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cu(cudaGraphDestroy(graph), "destroy");
    return exec;
  }

  int n_;
  float rate_;
  Pinned<Patch> patch_;
  Pinned<float> audio_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t patch_read_ = nullptr, rendered_ = nullptr;
  cudaGraphExec_t upload_ = nullptr, render_ = nullptr;
  Patch* device_patch_ = nullptr;
  float *mix_ = nullptr, *out_ = nullptr;
};

}  // namespace synth

std::vector<float> bounce(const std::vector<synth::Patch>& automation, int block, float rate) {
  synth::Voice voice(block, rate);
  std::vector<float> song(automation.size() * block);
  for (size_t i = 0; i < automation.size(); ++i) {
    voice.set_patch(automation[i]);
    voice.start();
    if (i + 1 < automation.size()) voice.set_patch(automation[i + 1]);
    voice.collect(song.data() + i * block);
  }
  return song;
}
