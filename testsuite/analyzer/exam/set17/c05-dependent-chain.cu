// A residual block with programmatic dependent launch (sm_90+).  Kernels prefetch weights,
// which nobody writes, ahead of the wait; everything that another kernel makes comes after it.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace net {

#define NET_CUDA(x)                                                                      \
  do {                                                                                   \
    if (cudaError_t rc = (x); rc != cudaSuccess)                                         \
      throw std::runtime_error(std::string(__FILE__) + ": " + cudaGetErrorString(rc));   \
  } while (0)

constexpr int kFeatures = 128;

struct Weights {
  const float* scale;
  const float* bias;
};

__device__ float2 prefetch(Weights w, int f) { return make_float2(w.scale[f], w.bias[f]); }

__global__ void affine(const float* in, Weights w, float* mid) {
  const float2 p = prefetch(w, threadIdx.x);
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * kFeatures + threadIdx.x;
  mid[i] = fmaxf(p.x * in[i] + p.y, 0.0f);
}

// One value per row; does not look at `mid`, but keeps the chain whole.
__global__ void rowGate(int step, const float* table, float* gate, int rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  const float base = table[step & 15];
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  if (r < rows) gate[r] = base + 0.001f * static_cast<float>(r);
}

__global__ void residual(const float* in, const float* mid, const float* gate, float* out) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * kFeatures + threadIdx.x;
  out[i] = in[i] + gate[blockIdx.x] * mid[i];
}

template <typename T>
class Device {
 public:
  explicit Device(std::size_t n) { NET_CUDA(cudaMalloc(reinterpret_cast<void**>(&p_), n * sizeof(T))); }
  explicit Device(const std::vector<T>& v) : Device(v.size()) {
    NET_CUDA(cudaMemcpy(p_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(p_); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  T* get() const { return p_; }

 private:
  T* p_ = nullptr;
};

class ResidualBlock {
 public:
  ResidualBlock(int rows, const std::vector<float>& scale, const std::vector<float>& bias)
      : rows_(rows), scale_(scale), bias_(bias), table_(std::vector<float>(16, 0.3f)),
        mid_(static_cast<std::size_t>(rows) * kFeatures), gate_(rows) {
    NET_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    NET_CUDA(cudaDeviceSynchronize());
  }
  ~ResidualBlock() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  // x and y alternate as input and output; both are on the device and x is complete.
  void run(float* x, float* y, int steps) {
    const Weights w{scale_.get(), bias_.get()};
    for (int s = 0; s < steps; ++s) {
      const float* in = s % 2 ? y : x;
      float* out = s % 2 ? x : y;
      chained(affine, rows_, kFeatures, in, w, mid_.get());
      chained(rowGate, (rows_ + 127) / 128, 128, s, table_.get(), gate_.get(), rows_);
      chained(residual, rows_, kFeatures, in, mid_.get(), gate_.get(), out);
    }
    NET_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  template <typename... P, typename... A>
  void chained(void (*kernel)(P...), int grid, int block, A... args) {
    cudaLaunchAttribute overlap[1] = {};
    overlap[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.stream = stream_;
    config.attrs = overlap;
    config.numAttrs = 1;
    NET_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...));
  }

  int rows_;
  Device<float> scale_, bias_, table_, mid_, gate_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace net
