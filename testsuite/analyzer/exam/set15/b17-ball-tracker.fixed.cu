#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Ball detection in broadcast video: a motion map and a texture map of every frame are
// fused into a score. The kernels are short, so their prologues overlap.

static void verify(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

__global__ void motion_kernel(const float* frame, const float* previous, float* motion, int n) {
  cudaTriggerProgrammaticLaunchCompletion();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) motion[i] = fabsf(frame[i] - previous[i]);
}

__global__ void texture_kernel(const float* frame, float* texture, int width, int n) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float right = i + 1 < n ? frame[i + 1] : frame[i];
  const float down = i + width < n ? frame[i + width] : frame[i];
  texture[i] = fabsf(right - frame[i]) + fabsf(down - frame[i]);
}

__global__ void fuse_kernel(const float* motion, const float* texture, float weight, float* score,
                            int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  cudaGridDependencySynchronize();
  if (i < n) score[i] = weight * motion[i] - (1.f - weight) * texture[i];
}

class LaunchSpec {
 public:
  LaunchSpec(int n, cudaStream_t stream, bool overlap) {
    attribute_[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_[0].val.programmaticStreamSerializationAllowed = overlap ? 1 : 0;
    config_.gridDim = dim3((n + 255) / 256);
    config_.blockDim = dim3(256);
    config_.stream = stream;
    config_.attrs = attribute_.data();
    config_.numAttrs = 1;
  }
  LaunchSpec(const LaunchSpec&) = delete;
  LaunchSpec& operator=(const LaunchSpec&) = delete;

  const cudaLaunchConfig_t* get() const { return &config_; }

 private:
  std::array<cudaLaunchAttribute, 1> attribute_{};
  cudaLaunchConfig_t config_{};
};

class BallTracker {
 public:
  BallTracker(int width, int height) : width_(width), n_(width * height) {
    verify(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    for (float** p : {&frames_[0], &frames_[1], &motion_, &texture_, &score_})
      verify(cudaMalloc(p, n_ * sizeof(float)), "buffer");
    for (float* p : {frames_[0], frames_[1]})
      verify(cudaMemsetAsync(p, 0, n_ * sizeof(float), stream_), "clear");
  }
  ~BallTracker() {
    cudaStreamSynchronize(stream_);
    for (float* p : {frames_[0], frames_[1], motion_, texture_, score_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  BallTracker(const BallTracker&) = delete;
  BallTracker& operator=(const BallTracker&) = delete;

  // Index of the best candidate of the frame.
  int track(const std::vector<float>& image) {
    float* frame = frames_[turn_];
    const float* previous = frames_[turn_ ^ 1];
    turn_ ^= 1;
    verify(cudaMemcpyAsync(frame, image.data(), n_ * sizeof(float), cudaMemcpyHostToDevice, stream_),
           "upload");
    score(frame, previous);
    std::vector<float> host(n_);
    verify(cudaMemcpyAsync(host.data(), score_, n_ * sizeof(float), cudaMemcpyDeviceToHost, stream_),
           "download");
    verify(cudaStreamSynchronize(stream_), "track");
    int best = 0;
    for (int i = 1; i < n_; ++i)
      if (host[i] > host[best]) best = i;
    return best;
  }

 private:
  void score(const float* frame, const float* previous) {
    const LaunchSpec first(n_, stream_, /*overlap=*/false);
    const LaunchSpec next(n_, stream_, /*overlap=*/true);
    verify(cudaLaunchKernelEx(first.get(), motion_kernel, frame, previous, motion_, n_), "motion");
    verify(cudaLaunchKernelEx(next.get(), texture_kernel, frame, texture_, width_, n_), "texture");
    verify(cudaLaunchKernelEx(next.get(), fuse_kernel, static_cast<const float*>(motion_),
                              static_cast<const float*>(texture_), 0.7f, score_, n_),
           "fuse");
  }

  int width_, n_;
  cudaStream_t stream_ = nullptr;
  std::array<float*, 2> frames_{};
  float* motion_ = nullptr;
  float* texture_ = nullptr;
  float* score_ = nullptr;
  int turn_ = 0;
};

int main() {
  constexpr int kWidth = 1280, kHeight = 720;
  BallTracker tracker(kWidth, kHeight);
  std::vector<float> image(size_t(kWidth) * kHeight);
  for (int f = 0; f < 25; ++f) {
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>((i * 7 + 311 * f) % 255);
    std::printf("frame %d: %d\n", f, tracker.track(image));
  }
  return 0;
}
