// Stereo rectification: both cameras write into one contiguous surface, the left
// image in the first half, the right image in the second.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

namespace stereo {

static void verify(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorName(e));
}

__global__ void rectify(const uint8_t* raw, const float2* map, float* out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float2 m = map[y * w + x];
  int sx = min(max(int(m.x), 0), w - 1), sy = min(max(int(m.y), 0), h - 1);
  out[y * w + x] = raw[sy * w + sx];
}

__global__ void blockMatch(const float* pair, int w, int h, int range, float* disparity) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  const float* left = pair;
  const float* right = pair + w * h;
  float best = 1e30f;
  int arg = 0;
  for (int d = 0; d < range && d <= x; ++d) {
    float c = fabsf(left[y * w + x] - right[y * w + x - d]);
    if (c < best) best = c, arg = d;
  }
  disparity[y * w + x] = arg;
}

struct Camera {
  const uint8_t* raw;
  const float2* map;
};

class Rig {
 public:
  Rig(int w, int h) : w_(w), h_(h) {
    verify(cudaMalloc(&pair_, 2 * plane() * sizeof(float)));
    verify(cudaMalloc(&disparity_, plane() * sizeof(float)));
    for (auto& s : eye_) verify(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    verify(cudaEventCreateWithFlags(&right_, cudaEventDisableTiming));
    verify(cudaEventCreateWithFlags(&matched_, cudaEventDisableTiming));
  }
  ~Rig() {
    for (auto s : eye_) cudaStreamSynchronize(s);
    cudaFree(pair_);
    cudaFree(disparity_);
    cudaEventDestroy(right_);
    cudaEventDestroy(matched_);
    for (auto s : eye_) cudaStreamDestroy(s);
  }

  void submit(const Camera& l, const Camera& r) {
    rectifyEye(0, l);
    rectifyEye(1, r);
    join();
    const dim3 grid((w_ + 127) / 128, h_);
    blockMatch<<<grid, 128, 0, eye_[0]>>>(pair_, w_, h_, 64, disparity_);
    verify(cudaGetLastError());
    handBack();
  }

  void read(float* dst) {
    verify(cudaMemcpyAsync(dst, disparity_, plane() * sizeof(float), cudaMemcpyDeviceToHost, eye_[0]));
    verify(cudaStreamSynchronize(eye_[0]));
  }

 private:
  size_t plane() const { return size_t(w_) * h_; }

  void rectifyEye(int e, const Camera& c) {
    const dim3 grid((w_ + 127) / 128, h_);
    rectify<<<grid, 128, 0, eye_[e]>>>(c.raw, c.map, pair_ + e * plane(), w_, h_);
    verify(cudaGetLastError());
  }
  void join() {
    verify(cudaEventRecord(right_, eye_[1]));
    verify(cudaStreamWaitEvent(eye_[0], right_, 0));
  }
  void handBack() {
    verify(cudaEventRecord(matched_, eye_[0]));
    verify(cudaStreamWaitEvent(eye_[1], matched_, 0));
  }

  int w_, h_;
  float* pair_ = nullptr;
  float* disparity_ = nullptr;
  cudaStream_t eye_[2] = {};
  cudaEvent_t right_ = nullptr, matched_ = nullptr;
};

}  // namespace stereo
