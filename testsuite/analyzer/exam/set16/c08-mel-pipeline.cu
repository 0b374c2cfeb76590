// Log-mel front end in two kernels; the second one is launched early and loads its filter bank while
// the first one drains.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define RT(x)                                                                             \
  do {                                                                                    \
    if (cudaError_t rc_ = (x)) {                                                          \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));    \
      std::abort();                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kBins = 256;
constexpr int kMels = 64;

__device__ __forceinline__ void dependentsMayLaunch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ __forceinline__ void primaryIsDone() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

__global__ void powerSpectrum(const float* samples, float* power, float* gain) {
  dependentsMayLaunch();
  const float* frame = samples + size_t(blockIdx.x) * kBins;
  float re = 0.f, im = 0.f;
  for (int t = 0; t < kBins; ++t) {
    float s, c;
    sincospif(2.f * threadIdx.x * t / kBins, &s, &c);
    re += frame[t] * c;
    im -= frame[t] * s;
  }
  power[size_t(blockIdx.x) * kBins + threadIdx.x] = re * re + im * im;
  if (threadIdx.x == 0) gain[blockIdx.x] = 1.f / (re * re + 1.f);
}

__global__ void melBands(const float* filters, const float* power, const float* gain, float* mel) {
  __shared__ float bank[kBins];
  // The filters are constant for the life of the pipeline.
  const int band = blockIdx.y;
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) bank[b] = filters[size_t(band) * kBins + b];
  __syncthreads();

  primaryIsDone();

  const float g = gain[blockIdx.x];
  float acc = 0.f;
  for (int b = threadIdx.x; b < kBins; b += 32) acc += bank[b] * power[size_t(blockIdx.x) * kBins + b];
  for (int o = 16; o > 0; o >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, o);
  if (threadIdx.x == 0) mel[size_t(blockIdx.x) * kMels + band] = logf(g * acc + 1e-6f);
}

class MelPipeline {
 public:
  explicit MelPipeline(int frames) : frames_(frames) {
    RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT(cudaMalloc(&filters_, sizeof(float) * kMels * kBins));
    RT(cudaMalloc(&power_, sizeof(float) * frames * kBins));
    RT(cudaMalloc(&gain_, sizeof(float) * frames));
    RT(cudaMalloc(&mel_, sizeof(float) * frames * kMels));
    std::vector<float> bank(size_t(kMels) * kBins, 1.f / kBins);
    RT(cudaMemcpyAsync(filters_, bank.data(), bank.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    RT(cudaStreamSynchronize(stream_));
  }
  ~MelPipeline() {
    cudaStreamSynchronize(stream_);
    for (float* p : {filters_, power_, gain_, mel_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  MelPipeline(const MelPipeline&) = delete;
  MelPipeline& operator=(const MelPipeline&) = delete;

  void run(const float* samples) {
    powerSpectrum<<<frames_, kBins, 0, stream_>>>(samples, power_, gain_);
    RT(cudaGetLastError());

    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(frames_, kMels);
    cfg.blockDim = dim3(32);
    cfg.stream = stream_;
    cfg.attrs = &early;
    cfg.numAttrs = 1;
    RT(cudaLaunchKernelEx(&cfg, melBands, (const float*)filters_, (const float*)power_, (const float*)gain_, mel_));
  }

  std::vector<float> result() {
    std::vector<float> out(size_t(frames_) * kMels);
    RT(cudaMemcpyAsync(out.data(), mel_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    RT(cudaStreamSynchronize(stream_));
    return out;
  }

  cudaStream_t stream() const { return stream_; }

 private:
  int frames_;
  cudaStream_t stream_{};
  float *filters_ = nullptr, *power_ = nullptr, *gain_ = nullptr, *mel_ = nullptr;
};

int main() {
  const int frames = 128;
  float* samples = nullptr;
  RT(cudaMalloc(&samples, sizeof(float) * frames * kBins));
  {
    MelPipeline pipeline(frames);
    RT(cudaMemsetAsync(samples, 0, sizeof(float) * frames * kBins, pipeline.stream()));
    for (int i = 0; i < 50; ++i) pipeline.run(samples);
    std::printf("%f\n", pipeline.result()[0]);
  }
  RT(cudaFree(samples));
  return 0;
}
