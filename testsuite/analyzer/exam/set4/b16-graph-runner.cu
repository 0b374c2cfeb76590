// Speech synthesis: the vocoder runs as a captured graph with a static output,
// finished chunks are cloned away and delivered by a second stream.
#include <cufft.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <deque>
#include <functional>
#include <stdexcept>

namespace tts {

static inline void expect(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
static inline void expect(cufftResult r) {
  if (r != CUFFT_SUCCESS) throw std::runtime_error("cufft");
}

constexpr int kFrames = 64, kFft = 1024, kBins = kFft / 2 + 1, kSamples = kFrames * kFft;

__global__ void predictSpectrum(const float* latent, cufftComplex* spec, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) spec[i] = make_cuFloatComplex(latent[i % kBins] * __cosf(0.01f * i), latent[i % kBins] * __sinf(0.01f * i));
}

__global__ void advanceLatent(float* latent) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kBins) latent[i] = 0.99f * latent[i] + 0.01f;
}

class GraphRunner {
 public:
  explicit GraphRunner(cudaStream_t exec) : exec_(exec) {}
  ~GraphRunner() {
    if (instance_) cudaGraphExecDestroy(instance_);
  }
  GraphRunner(const GraphRunner&) = delete;

  void capture(const std::function<void(cudaStream_t)>& body) {
    cudaGraph_t g;
    expect(cudaStreamBeginCapture(exec_, cudaStreamCaptureModeRelaxed));
    body(exec_);
    expect(cudaStreamEndCapture(exec_, &g));
    expect(cudaGraphInstantiate(&instance_, g, 0));
    expect(cudaGraphDestroy(g));
  }
  void replay() { expect(cudaGraphLaunch(instance_, exec_)); }

 private:
  cudaStream_t exec_;
  cudaGraphExec_t instance_ = nullptr;
};

class Delivery {
 public:
  explicit Delivery(int depth) {
    expect(cudaStreamCreateWithFlags(&out_, cudaStreamNonBlocking));
    expect(cudaEventCreateWithFlags(&cloned_, cudaEventDisableTiming));
    for (int i = 0; i < depth; ++i) {
      float* p;
      expect(cudaMalloc(&p, kSamples * sizeof(float)));
      spare_.push_back(p);
    }
    expect(cudaMallocHost(&host_, kSamples * sizeof(float)));
  }
  ~Delivery() {
    cudaStreamSynchronize(out_);
    for (float* p : spare_) cudaFree(p);
    for (float* p : queued_) cudaFree(p);
    cudaFreeHost(host_);
    cudaEventDestroy(cloned_);
    cudaStreamDestroy(out_);
  }

  bool full() const { return spare_.empty(); }

  void clone(const float* src, cudaEvent_t ready) {
    float* dst = spare_.front();
    spare_.pop_front();
    expect(cudaStreamWaitEvent(out_, ready, 0));
    expect(cudaMemcpyAsync(dst, src, kSamples * sizeof(float), cudaMemcpyDeviceToDevice, out_));
    expect(cudaEventRecord(cloned_, out_));
    queued_.push_back(dst);
  }

  double drain() {
    double energy = 0;
    while (!queued_.empty()) {
      float* p = queued_.front();
      queued_.pop_front();
      expect(cudaMemcpyAsync(host_, p, kSamples * sizeof(float), cudaMemcpyDeviceToHost, out_));
      expect(cudaStreamSynchronize(out_));
      for (int i = 0; i < kSamples; ++i) energy += double(host_[i]) * host_[i];
      spare_.push_back(p);
    }
    return energy;
  }

  cudaEvent_t cloned() const { return cloned_; }

 private:
  cudaStream_t out_{};
  cudaEvent_t cloned_{};
  std::deque<float*> spare_, queued_;
  float* host_ = nullptr;
};

class Vocoder {
 public:
  Vocoder() : delivery_(4) {
    expect(cudaStreamCreateWithFlags(&exec_, cudaStreamNonBlocking));
    expect(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    expect(cudaMalloc(&latent_, kBins * sizeof(float)));
    expect(cudaMalloc(&spec_, size_t(kFrames) * kBins * sizeof(cufftComplex)));
    expect(cudaMalloc(&wave_, kSamples * sizeof(float)));
    expect(cudaMemsetAsync(latent_, 0, kBins * sizeof(float), exec_));
    expect(cufftPlan1d(&plan_, kFft, CUFFT_C2R, kFrames));
    expect(cufftSetStream(plan_, exec_));
    runner_ = new GraphRunner(exec_);
    runner_->capture([this](cudaStream_t s) {
      advanceLatent<<<(kBins + 127) / 128, 128, 0, s>>>(latent_);
      predictSpectrum<<<(kFrames * kBins + 255) / 256, 256, 0, s>>>(latent_, spec_, kFrames * kBins);
      expect(cufftExecC2R(plan_, spec_, wave_));
    });
  }
  ~Vocoder() {
    cudaStreamSynchronize(exec_);
    delete runner_;
    cufftDestroy(plan_);
    cudaFree(latent_);
    cudaFree(spec_);
    cudaFree(wave_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(exec_);
  }

  double speak(int chunks) {
    double energy = 0;
    for (int c = 0; c < chunks; ++c) {
      runner_->replay();
      expect(cudaEventRecord(ready_, exec_));
      if (delivery_.full()) energy += delivery_.drain();
      delivery_.clone(wave_, ready_);
    }
    return energy + delivery_.drain();
  }

 private:
  Delivery delivery_;
  cudaStream_t exec_{};
  cudaEvent_t ready_{};
  cufftHandle plan_{};
  GraphRunner* runner_ = nullptr;
  float *latent_{}, *wave_{};
  cufftComplex* spec_{};
};

}  // namespace tts

int main() {
  tts::Vocoder v;
  std::printf("%g\n", v.speak(128));
}
