// Two-stage spectral noise gate. Stage one measures band energies of each audio frame, stage
// two attenuates the bands below the noise floor. Stage two is launched as a dependent of
// stage one; one warp per block moves the frame into shared memory, the others do the maths.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void cuda_must(cudaError_t rc, int line) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
  std::exit(1);
}
#define MUST(x) cuda_must((x), __LINE__)

namespace gate {

constexpr int kBins = 1024;
constexpr int kBands = 32;
constexpr int kBinsPerBand = kBins / kBands;
constexpr int kMathWarps = 7;
constexpr int kBlock = 32 * (kMathWarps + 1);

__global__ void measure(const float* __restrict__ raw, float* __restrict__ windowed,
                        float* __restrict__ energy) {
  const int frame = blockIdx.x;
  __shared__ float bands[kBands];
  if (threadIdx.x < kBands) bands[threadIdx.x] = 0.f;
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) {
    const float w = 0.5f - 0.5f * cospif(2.f * i / kBins);
    const float v = raw[frame * kBins + i] * w;
    windowed[frame * kBins + i] = v;
    atomicAdd(&bands[i / kBinsPerBand], v * v);
  }
  __syncthreads();
  cudaTriggerProgrammaticLaunchCompletion();
  if (threadIdx.x < kBands) energy[frame * kBands + threadIdx.x] = bands[threadIdx.x];
}

__device__ void mover_role(const float* __restrict__ windowed, float* tile) {
  cudaGridDependencySynchronize();
  for (int i = threadIdx.x; i < kBins; i += 32) tile[i] = windowed[blockIdx.x * kBins + i];
}

// Gains of the bands that this lane is going to touch.
__device__ float band_gain(const float* energy, float floor_power, int band) {
  const float e = energy[blockIdx.x * kBands + band] / kBinsPerBand;
  return e > floor_power ? 1.f : e / (e + 4.f * floor_power);
}

__global__ void attenuate(const float* windowed, const float* energy, float floor_power,
                          float* __restrict__ out) {
  __shared__ float tile[kBins];
  __shared__ float gain[kBands];
  const int warp = threadIdx.x / 32;
  if (warp == 0) {
    mover_role(windowed, tile);
  } else {
    const int t = threadIdx.x - 32;
    if (t < kBands) gain[t] = band_gain(energy, floor_power, t);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x)
    out[blockIdx.x * kBins + i] = tile[i] * gain[i / kBinsPerBand];
}

struct Buffers {
  float* raw = nullptr;
  float* windowed = nullptr;
  float* energy = nullptr;
  float* out = nullptr;

  explicit Buffers(int frames) {
    MUST(cudaMalloc(&raw, sizeof(float) * frames * kBins));
    MUST(cudaMalloc(&windowed, sizeof(float) * frames * kBins));
    MUST(cudaMalloc(&energy, sizeof(float) * frames * kBands));
    MUST(cudaMalloc(&out, sizeof(float) * frames * kBins));
  }
  ~Buffers() {
    for (float* p : {raw, windowed, energy, out}) cudaFree(p);
  }
};

void process(const Buffers& b, int frames, float floor_power, cudaStream_t stream) {
  measure<<<frames, 256, 0, stream>>>(b.raw, b.windowed, b.energy);
  MUST(cudaGetLastError());

  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = dim3(frames);
  cfg.blockDim = dim3(kBlock);
  cfg.stream = stream;
  cfg.attrs = &overlap;
  cfg.numAttrs = 1;
  MUST(cudaLaunchKernelEx(&cfg, attenuate, static_cast<const float*>(b.windowed),
                          static_cast<const float*>(b.energy), floor_power, b.out));
}

}  // namespace gate

int main() {
  constexpr int frames = 480;
  std::vector<float> audio(frames * gate::kBins);
  for (std::size_t i = 0; i < audio.size(); ++i)
    audio[i] = std::sin(0.05f * i) + 0.01f * static_cast<float>(std::rand() % 100);

  cudaStream_t stream;
  MUST(cudaStreamCreate(&stream));
  double power = 0.0;
  {
    gate::Buffers b(frames);
    for (int pass = 0; pass < 8; ++pass) {
      MUST(cudaMemcpyAsync(b.raw, audio.data(), audio.size() * sizeof(float),
                           cudaMemcpyHostToDevice, stream));
      gate::process(b, frames, 0.02f, stream);
      MUST(cudaMemcpyAsync(audio.data(), b.out, audio.size() * sizeof(float),
                           cudaMemcpyDeviceToHost, stream));
      MUST(cudaStreamSynchronize(stream));
    }
  }
  for (float v : audio) power += v * v;
  std::printf("residual power %.3f\n", power / audio.size());
  MUST(cudaStreamDestroy(stream));
}
