// Room impulse response: direct sound and diffuse tail, both summed into one energy histogram.
#include <cuda.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

#define CU_CHECK(call)                                                        \
  do {                                                                        \
    const CUresult r_ = (call);                                               \
    if (r_ != CUDA_SUCCESS) {                                                 \
      const char* n_ = nullptr;                                               \
      cuGetErrorName(r_, &n_);                                                \
      throw std::runtime_error(std::string(#call ": ") + (n_ ? n_ : "?"));    \
    }                                                                         \
  } while (0)

namespace acoustics {

__global__ void addDirect(float* energy, const float* distance, const float* gain, int sources,
                          int bins, float binsPerMetre) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin >= bins) return;
  float sum = 0.f;
  for (int s = 0; s < sources; ++s)
    if (int(distance[s] * binsPerMetre) == bin) sum += gain[s] / (1.f + distance[s] * distance[s]);
  energy[bin] += sum;
}

__global__ void makeTail(float* tail, int bins, float decay) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin >= bins) return;
  float v = 1.f;
  for (int i = 0; i < 64; ++i) v = v * 0.98f + 0.02f * __sinf(0.1f * i + bin);
  tail[bin] = v * v * __expf(-decay * bin);
}

__global__ void addTail(float* energy, const float* tail, int bins, float level) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < bins) energy[bin] += level * tail[bin];
}

// A kernel handle that is launched through the driver API over a one-dimensional range.
class KernelFn {
 public:
  explicit KernelFn(const void* symbol) {
    if (cudaGetFuncBySymbol(&fn_, symbol) != cudaSuccess)
      throw std::runtime_error("cannot resolve kernel");
  }
  void launch(CUstream stream, int items, std::vector<void*> args) const {
    CU_CHECK(cuLaunchKernel(fn_, (items + 255) / 256, 1, 1, 256, 1, 1, 0, stream, args.data(),
                            nullptr));
  }

 private:
  cudaFunction_t fn_ = nullptr;
};

class EchoModel {
 public:
  explicit EchoModel(int bins)
      : bins_(bins), direct_(reinterpret_cast<const void*>(&addDirect)),
        makeTail_(reinterpret_cast<const void*>(&makeTail)),
        addTail_(reinterpret_cast<const void*>(&addTail)) {
    CU_CHECK(cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
    CU_CHECK(cuEventCreate(&cleared_, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuEventCreate(&tailDone_, CU_EVENT_DISABLE_TIMING));
    CU_CHECK(cuMemAlloc(&energy_, bins_ * sizeof(float)));
    CU_CHECK(cuMemAlloc(&tail_, bins_ * sizeof(float)));
  }
  EchoModel(const EchoModel&) = delete;
  ~EchoModel() {
    cuStreamSynchronize(side_);
    cuStreamSynchronize(main_);
    cuMemFree(energy_);
    cuMemFree(tail_);
    cuEventDestroy(cleared_);
    cuEventDestroy(tailDone_);
    cuStreamDestroy(side_);
    cuStreamDestroy(main_);
  }

  // `distance` and `gain` are device arrays that are complete and stay unchanged.
  std::vector<float> evaluate(CUdeviceptr distance, CUdeviceptr gain, int sources, float decay) {
    beginRound();
    startTail(decay);
    runDirect(distance, gain, sources);
    finishTail(0.25f);
    return readBack();
  }

 private:
  void beginRound() {
    CU_CHECK(cuMemsetD32Async(energy_, 0, bins_, main_));
    CU_CHECK(cuEventRecord(cleared_, main_));
    CU_CHECK(cuStreamWaitEvent(side_, cleared_, 0));
  }

  void startTail(float decay) { makeTail_.launch(side_, bins_, {&tail_, &bins_, &decay}); }

  void runDirect(CUdeviceptr distance, CUdeviceptr gain, int sources) {
    float binsPerMetre = 48000.f / 343.f;
    direct_.launch(main_, bins_, {&energy_, &distance, &gain, &sources, &bins_, &binsPerMetre});
  }

  void finishTail(float level) {
    addTail_.launch(side_, bins_, {&energy_, &tail_, &bins_, &level});
    CU_CHECK(cuEventRecord(tailDone_, side_));
    CU_CHECK(cuStreamWaitEvent(main_, tailDone_, 0));
  }

  std::vector<float> readBack() {
    std::vector<float> out(bins_);
    CU_CHECK(cuMemcpyDtoHAsync(out.data(), energy_, bins_ * sizeof(float), main_));
    CU_CHECK(cuStreamSynchronize(main_));
    return out;
  }

  int bins_;
  KernelFn direct_, makeTail_, addTail_;
  CUstream main_ = nullptr, side_ = nullptr;
  CUevent cleared_ = nullptr, tailDone_ = nullptr;
  CUdeviceptr energy_ = 0, tail_ = 0;
};

}  // namespace acoustics
