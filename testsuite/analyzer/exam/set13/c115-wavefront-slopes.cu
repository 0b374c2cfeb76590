// Adaptive optics: spot centroids of the wavefront sensor and the slopes that the
// reconstructor needs, chained by programmatic dependent launch.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace ao {

inline void ensure(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Lenslets {
  int columns;
  int rows;
  int window;
  __host__ __device__ int count() const { return columns * rows; }
};

__global__ void spotCentroids(const unsigned short* pixels, float2* spots, Lenslets grid) {
  const int lens = blockIdx.x * blockDim.x + threadIdx.x;
  if (lens < grid.count()) {
    const int x0 = lens % grid.columns * grid.window;
    const int y0 = lens / grid.columns * grid.window;
    float sx = 0.f, sy = 0.f, s = 1e-6f;
    for (int y = 0; y < grid.window; ++y)
      for (int x = 0; x < grid.window; ++x) {
        const float v = pixels[(y0 + y) * grid.columns * grid.window + x0 + x];
        sx += v * x;
        sy += v * y;
        s += v;
      }
    spots[lens] = make_float2(sx / s, sy / s);
  }
  cudaTriggerProgrammaticLaunchCompletion();
}

// Calibration of one lenslet; written once when the loop is opened.
struct Reference {
  float2 centre;
  float gain;
};

class Calibrated {
 public:
  __device__ Calibrated(const Reference* references, int lens) : reference_(references[lens]) {}
  __device__ float2 slope(const float2* spots, int lens) const {
    const float2 spot = spots[lens];
    return make_float2(reference_.gain * (spot.x - reference_.centre.x),
                       reference_.gain * (spot.y - reference_.centre.y));
  }

 private:
  Reference reference_;
};

__global__ void wavefrontSlopes(const float2* spots, const Reference* __restrict__ references, float2* slopes,
                                Lenslets grid) {
  const int lens = blockIdx.x * blockDim.x + threadIdx.x;
  if (lens >= grid.count()) return;
  const Calibrated calibrated(references, lens);
  cudaGridDependencySynchronize();
  slopes[lens] = calibrated.slope(spots, lens);
}

class SlopeComputer {
 public:
  SlopeComputer(Lenslets grid, const Reference* hostReferences) : grid_(grid) {
    ensure(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    ensure(cudaMalloc(&references_, sizeof(Reference) * grid.count()), "references");
    ensure(cudaMalloc(&spots_, sizeof(float2) * grid.count()), "spots");
    ensure(cudaMemcpyAsync(references_, hostReferences, sizeof(Reference) * grid.count(),
                           cudaMemcpyHostToDevice, stream_),
           "upload references");
    ensure(cudaStreamSynchronize(stream_), "upload references");
  }
  ~SlopeComputer() {
    cudaStreamSynchronize(stream_);
    cudaFree(spots_);
    cudaFree(references_);
    cudaStreamDestroy(stream_);
  }
  SlopeComputer(const SlopeComputer&) = delete;
  SlopeComputer& operator=(const SlopeComputer&) = delete;

  cudaStream_t stream() const { return stream_; }

  // pixels are complete in stream(); slopes may be used there afterwards.
  void enqueue(const unsigned short* pixels, float2* slopes) {
    spotCentroids<<<blocks(), kThreads, 0, stream_>>>(pixels, spots_, grid_);
    ensure(cudaGetLastError(), "spotCentroids");

    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks());
    config.blockDim = dim3(kThreads);
    config.stream = stream_;
    config.attrs = &attribute;
    config.numAttrs = 1;
    const float2* spots = spots_;
    const Reference* references = references_;
    ensure(cudaLaunchKernelEx(&config, wavefrontSlopes, spots, references, slopes, grid_), "wavefrontSlopes");
  }

 private:
  static constexpr int kThreads = 64;
  unsigned blocks() const { return (grid_.count() + kThreads - 1) / kThreads; }

  Lenslets grid_;
  cudaStream_t stream_ = nullptr;
  Reference* references_ = nullptr;
  float2* spots_ = nullptr;
};

}  // namespace ao
