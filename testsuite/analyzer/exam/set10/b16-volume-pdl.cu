// Volume rendering of simulation bricks: transfer-function pass and compositing pass with overlapped prologue.
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace volren {

inline void throw_on(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(std::string("volren: ") + cudaGetErrorString(e));
}

constexpr int kBrickVoxels = 512;

struct BrickRange {
  float lo;
  float hi;
};

// One block per brick: maps densities to opacities and stores the range of the brick.
__global__ void classify(const float* density, float* opacity, BrickRange* ranges, float gain) {
  __shared__ float lo[kBrickVoxels], hi[kBrickVoxels];
  const int t = threadIdx.x;
  const size_t v = size_t(blockIdx.x) * kBrickVoxels + t;
  const float a = fminf(1.f, gain * density[v]);
  opacity[v] = a;
  lo[t] = hi[t] = a;
  __syncthreads();
  for (int s = kBrickVoxels / 2; s > 0; s /= 2) {
    if (t < s) {
      lo[t] = fminf(lo[t], lo[t + s]);
      hi[t] = fmaxf(hi[t], hi[t + s]);
    }
    __syncthreads();
  }
  cudaTriggerProgrammaticLaunchCompletion();
  if (t == 0) ranges[blockIdx.x] = {lo[0], hi[0]};
}

class BrickView {
 public:
  __device__ BrickView(const float* opacity, const BrickRange* ranges, int brick)
      : voxels_(opacity + size_t(brick) * kBrickVoxels), range_(ranges[brick]) {}

  __device__ bool empty() const { return range_.hi <= 1e-3f; }
  __device__ float sample(int i) const { return voxels_[i]; }
  __device__ float contrast() const { return range_.hi - range_.lo; }

 private:
  const float* voxels_;
  BrickRange range_;
};

__global__ void composite(const float* opacity, const BrickRange* ranges, const float* lut, float* image, int bricks) {
  __shared__ float curve[256];
  curve[threadIdx.x & 255] = lut[threadIdx.x & 255];
  const BrickView view(opacity, ranges, blockIdx.x);
  __syncthreads();
  cudaGridDependencySynchronize();
  if (view.empty()) {
    image[size_t(blockIdx.x) * blockDim.x + threadIdx.x] = 0.f;
    return;
  }
  const int bin = min(255, int(view.sample(threadIdx.x) * 255.f));
  image[size_t(blockIdx.x) * blockDim.x + threadIdx.x] = curve[bin] * view.contrast();
}

struct Volume {
  const float* density;
  int bricks;
};

class Renderer {
 public:
  Renderer(int max_bricks, const float* lut_host) {
    throw_on(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    throw_on(cudaMalloc(&opacity_, size_t(max_bricks) * kBrickVoxels * sizeof(float)));
    throw_on(cudaMalloc(&image_, size_t(max_bricks) * kBrickVoxels * sizeof(float)));
    throw_on(cudaMalloc(&ranges_, max_bricks * sizeof(BrickRange)));
    throw_on(cudaMalloc(&lut_, 256 * sizeof(float)));
    throw_on(cudaMemcpyAsync(lut_, lut_host, 256 * sizeof(float), cudaMemcpyHostToDevice, stream_));
    throw_on(cudaStreamSynchronize(stream_));
  }
  ~Renderer() {
    cudaStreamSynchronize(stream_);
    cudaFree(lut_);
    cudaFree(ranges_);
    cudaFree(image_);
    cudaFree(opacity_);
    cudaStreamDestroy(stream_);
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  void frame(const Volume& vol, float gain, float* host_image) {
    classify<<<vol.bricks, kBrickVoxels, 0, stream_>>>(vol.density, opacity_, ranges_, gain);
    throw_on(cudaGetLastError());
    launch_composite(vol.bricks);
    throw_on(cudaMemcpyAsync(host_image, image_, size_t(vol.bricks) * kBrickVoxels * sizeof(float),
                             cudaMemcpyDeviceToHost, stream_));
    throw_on(cudaStreamSynchronize(stream_));
  }

 private:
  void launch_composite(int bricks) {
    cudaLaunchAttribute attr{};
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(bricks);
    cfg.blockDim = dim3(kBrickVoxels);
    cfg.stream = stream_;
    cfg.attrs = &attr;
    cfg.numAttrs = 1;
    throw_on(cudaLaunchKernelEx(&cfg, composite, (const float*)opacity_, (const BrickRange*)ranges_,
                                (const float*)lut_, image_, bricks));
  }

  cudaStream_t stream_ = nullptr;
  float *opacity_ = nullptr, *image_ = nullptr, *lut_ = nullptr;
  BrickRange* ranges_ = nullptr;
};

}  // namespace volren
