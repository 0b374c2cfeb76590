#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

// Inline inspection of woven fabric: flat-field correction followed by a local contrast test.

#define LOOM_CHECK(expr)                                                        \
  do {                                                                          \
    const cudaError_t status_ = (expr);                                         \
    if (status_ != cudaSuccess) {                                               \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__,                    \
                   cudaGetErrorString(status_));                                \
      std::exit(2);                                                             \
    }                                                                           \
  } while (0)

constexpr int kBlock = 256;

__global__ void flatfield_kernel(const uint8_t* raw, const float* gain, float* corrected, int width,
                                 int height) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) corrected[i] = raw[i] * gain[i % width];
}

__device__ float load_pixel(const float* image, int i, int n) {
  return i >= 0 && i < n ? image[i] : 0.f;
}

__global__ void defect_kernel(const float* corrected, const float* tolerance, uint8_t* defect,
                              int width, int height) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int n = width * height;
  const float limit = tolerance[i % width];
  const float centre = load_pixel(corrected, i, n);

  cudaGridDependencySynchronize();

  if (i >= n) return;
  const float around = load_pixel(corrected, i - 1, n) + load_pixel(corrected, i + 1, n) +
                       load_pixel(corrected, i - width, n) + load_pixel(corrected, i + width, n);
  defect[i] = fabsf(centre - 0.25f * around) > limit ? 1 : 0;
}

template <typename... Params, typename... Args>
void launch_dependent(void (*kernel)(Params...), unsigned blocks, cudaStream_t stream,
                      Args&&... args) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kBlock);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  LOOM_CHECK(cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...));
}

class LoomInspector {
 public:
  LoomInspector(int width, int height) : width_(width), height_(height) {
    LOOM_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LOOM_CHECK(cudaMalloc(&raw_, pixels()));
    LOOM_CHECK(cudaMalloc(&defect_, pixels()));
    LOOM_CHECK(cudaMalloc(&corrected_, pixels() * sizeof(float)));
    LOOM_CHECK(cudaMalloc(&gain_, width_ * sizeof(float)));
    LOOM_CHECK(cudaMalloc(&tolerance_, width_ * sizeof(float)));
  }
  ~LoomInspector() {
    cudaStreamSynchronize(stream_);
    cudaFree(tolerance_);
    cudaFree(gain_);
    cudaFree(corrected_);
    cudaFree(defect_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }
  LoomInspector(const LoomInspector&) = delete;
  LoomInspector& operator=(const LoomInspector&) = delete;

  void calibrate(const std::vector<float>& gain, const std::vector<float>& tolerance) {
    LOOM_CHECK(cudaMemcpyAsync(gain_, gain.data(), width_ * sizeof(float), cudaMemcpyHostToDevice,
                               stream_));
    LOOM_CHECK(cudaMemcpyAsync(tolerance_, tolerance.data(), width_ * sizeof(float),
                               cudaMemcpyHostToDevice, stream_));
    LOOM_CHECK(cudaStreamSynchronize(stream_));
  }

  int inspect(const std::vector<uint8_t>& line_scan) {
    LOOM_CHECK(cudaMemcpyAsync(raw_, line_scan.data(), pixels(), cudaMemcpyHostToDevice, stream_));
    const unsigned blocks = static_cast<unsigned>((pixels() + kBlock - 1) / kBlock);
    flatfield_kernel<<<blocks, kBlock, 0, stream_>>>(raw_, gain_, corrected_, width_, height_);
    LOOM_CHECK(cudaGetLastError());
    launch_dependent(defect_kernel, blocks, stream_, corrected_, tolerance_, defect_, width_, height_);
    std::vector<uint8_t> map(pixels());
    LOOM_CHECK(cudaMemcpyAsync(map.data(), defect_, pixels(), cudaMemcpyDeviceToHost, stream_));
    LOOM_CHECK(cudaStreamSynchronize(stream_));
    int defects = 0;
    for (uint8_t d : map) defects += d;
    return defects;
  }

 private:
  size_t pixels() const { return size_t(width_) * height_; }

  int width_, height_;
  cudaStream_t stream_ = nullptr;
  uint8_t* raw_ = nullptr;
  uint8_t* defect_ = nullptr;
  float* corrected_ = nullptr;
  float* gain_ = nullptr;
  float* tolerance_ = nullptr;
};

int main() {
  constexpr int kWidth = 4096, kHeight = 1024;
  LoomInspector inspector(kWidth, kHeight);
  inspector.calibrate(std::vector<float>(kWidth, 1.02f), std::vector<float>(kWidth, 24.f));
  std::vector<uint8_t> scan(size_t(kWidth) * kHeight);
  for (int pass = 0; pass < 20; ++pass) {
    for (size_t i = 0; i < scan.size(); ++i) scan[i] = static_cast<uint8_t>(i * 13 + pass);
    std::printf("pass %d: %d\n", pass, inspector.inspect(scan));
  }
  return 0;
}
