// Night vision denoiser: noise estimate and filter, the filter's prologue overlaps the estimate.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OKAY(x)                                                              \
  do {                                                                       \
    cudaError_t e_ = (x);                                                    \
    if (e_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));          \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

constexpr int kTile = 16;
constexpr int kRadius = 3;
constexpr int kTaps = 2 * kRadius + 1;

struct Image {
  int width;
  int height;
  int tilesX() const { return (width + kTile - 1) / kTile; }
  int tilesY() const { return (height + kTile - 1) / kTile; }
  size_t bytes() const { return sizeof(float) * width * height; }
};

// One noise level per tile.
__global__ void estimateNoise(const float* in, float* sigma, int width, int height) {
  __shared__ float sum, squares;
  if (threadIdx.x == 0 && threadIdx.y == 0) sum = squares = 0.f;
  __syncthreads();
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  const float v = x < width && y < height ? in[y * width + x] : 0.f;
  cudaTriggerProgrammaticLaunchCompletion();
  atomicAdd(&sum, v);
  atomicAdd(&squares, v * v);
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    const float mean = sum / (kTile * kTile);
    sigma[blockIdx.y * gridDim.x + blockIdx.x] = sqrtf(squares / (kTile * kTile) - mean * mean);
  }
}

__global__ void bilateral(const float* in, const float* sigma, float* out, int width, int height) {
  __shared__ float spatial[kTaps * kTaps];
  const int lane = threadIdx.y * kTile + threadIdx.x;
  if (lane < kTaps * kTaps) {
    const int dx = lane % kTaps - kRadius, dy = lane / kTaps - kRadius;
    spatial[lane] = expf(-0.125f * (dx * dx + dy * dy));
  }
  __syncthreads();
  cudaGridDependencySynchronize();
  const float s = sigma[blockIdx.y * gridDim.x + blockIdx.x] + 1e-4f;

  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  if (x >= width || y >= height) return;
  const float centre = in[y * width + x];
  float acc = 0.f, norm = 0.f;
  for (int k = 0; k < kTaps * kTaps; ++k) {
    const int xx = min(max(x + k % kTaps - kRadius, 0), width - 1);
    const int yy = min(max(y + k / kTaps - kRadius, 0), height - 1);
    const float v = in[yy * width + xx];
    const float d = (v - centre) / s;
    const float w = spatial[k] * expf(-0.5f * d * d);
    acc += w * v;
    norm += w;
  }
  out[y * width + x] = acc / norm;
}

class Denoiser {
 public:
  explicit Denoiser(Image image) : image_(image) {
    OKAY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OKAY(cudaMalloc(&in_, image.bytes()));
    OKAY(cudaMalloc(&out_, image.bytes()));
    OKAY(cudaMalloc(&sigma_, sizeof(float) * image.tilesX() * image.tilesY()));
  }
  ~Denoiser() {
    OKAY(cudaStreamSynchronize(stream_));
    OKAY(cudaFree(in_));
    OKAY(cudaFree(out_));
    OKAY(cudaFree(sigma_));
    OKAY(cudaStreamDestroy(stream_));
  }

  void process(const std::vector<float>& frame, std::vector<float>& result) {
    OKAY(cudaMemcpyAsync(in_, frame.data(), image_.bytes(), cudaMemcpyHostToDevice, stream_));
    const dim3 grid(image_.tilesX(), image_.tilesY());
    estimateNoise<<<grid, dim3(kTile, kTile), 0, stream_>>>(in_, sigma_, image_.width, image_.height);
    OKAY(cudaGetLastError());
    launchFilter(grid);
    OKAY(cudaMemcpyAsync(result.data(), out_, image_.bytes(), cudaMemcpyDeviceToHost, stream_));
    OKAY(cudaStreamSynchronize(stream_));
  }

 private:
  void launchFilter(dim3 grid) {
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(kTile, kTile);
    config.stream = stream_;
    config.attrs = &overlap;
    config.numAttrs = 1;
    OKAY(cudaLaunchKernelEx(&config, bilateral, in_, sigma_, out_, image_.width, image_.height));
  }

  Image image_;
  cudaStream_t stream_ = nullptr;
  float* in_ = nullptr;
  float* out_ = nullptr;
  float* sigma_ = nullptr;
};

int main() {
  const Image image{640, 480};
  std::vector<float> frame(image.width * image.height), result(frame.size());
  Denoiser denoiser(image);
  double total = 0;
  for (int f = 0; f < 30; ++f) {
    for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<float>((i * 37 + f * 11) % 256);
    denoiser.process(frame, result);
    total += result[image.width + 1];
  }
  std::printf("checksum %.3f\n", total);
  return 0;
}
