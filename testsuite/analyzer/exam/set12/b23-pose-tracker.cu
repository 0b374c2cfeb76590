// Head-pose tracker: one small network per camera frame, replayed as a graph.
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

void require(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

constexpr int kKeypoints = 512;
constexpr int kPose = 6;

struct Keypoint {
  float u, v, score;
};

__global__ void normalise(const Keypoint* in, float* features) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kKeypoints) return;
  features[2 * i] = (in[i].u - 640.f) / 640.f * in[i].score;
  features[2 * i + 1] = (in[i].v - 360.f) / 360.f * in[i].score;
}

__global__ void regress(const float* features, const float* weights, float* pose) {
  __shared__ float part[128];
  int row = blockIdx.x;
  float acc = 0.f;
  for (int i = threadIdx.x; i < 2 * kKeypoints; i += blockDim.x) acc += features[i] * weights[row * 2 * kKeypoints + i];
  part[threadIdx.x] = acc;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) pose[row] = part[0];
}

template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t n) : n_(n) { require(cudaMallocHost(&p_, n * sizeof(T))); }
  ~PinnedArray() { cudaFreeHost(p_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* data() { return p_; }
  T& operator[](std::size_t i) { return p_[i]; }
  std::size_t bytes() const { return n_ * sizeof(T); }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

template <typename T>
struct DeviceArray {
  explicit DeviceArray(std::size_t n) : count(n) { require(cudaMalloc(&ptr, n * sizeof(T))); }
  ~DeviceArray() { cudaFree(ptr); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* ptr = nullptr;
  std::size_t count;
};

class PoseNet {
 public:
  explicit PoseNet(const std::vector<float>& weights)
      : staging_(kKeypoints), keypoints_(kKeypoints), features_(2 * kKeypoints), weights_(weights.size()) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaEventCreateWithFlags(&replayed_, cudaEventDisableTiming));
    require(cudaMemcpyAsync(weights_.ptr, weights.data(), weights.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    require(cudaStreamSynchronize(stream_));
  }
  ~PoseNet() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaEventDestroy(replayed_);
    cudaStreamDestroy(stream_);
  }

  // Every pose of a clip goes to its own slot of `poses`, so all frames can be in flight together.
  void bind(PinnedArray<float>& poses) { poses_ = &poses; }

  void submit(const std::vector<Keypoint>& frame, int slot) {
    fill_staging(frame);
    if (!exec_) record();
    require(cudaGraphLaunch(exec_, stream_));
    require(cudaEventRecord(replayed_, stream_));
    require(cudaMemcpyAsync(poses_->data() + slot * kPose, pose_.ptr, kPose * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }

  void drain() { require(cudaStreamSynchronize(stream_)); }

 private:
  void fill_staging(const std::vector<Keypoint>& frame) {
    std::memcpy(staging_.data(), frame.data(), frame.size() * sizeof(Keypoint));
    for (std::size_t i = frame.size(); i < kKeypoints; ++i) staging_[i] = {0.f, 0.f, 0.f};
  }

  void record() {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    require(cudaMemcpyAsync(keypoints_.ptr, staging_.data(), staging_.bytes(), cudaMemcpyHostToDevice, stream_));
    normalise<<<kKeypoints / 128, 128, 0, stream_>>>(keypoints_.ptr, features_.ptr);
    regress<<<kPose, 128, 0, stream_>>>(features_.ptr, weights_.ptr, pose_.ptr);
    require(cudaStreamEndCapture(stream_, &graph));
    require(cudaGraphInstantiate(&exec_, graph, 0));
    require(cudaGraphDestroy(graph));
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t replayed_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  PinnedArray<Keypoint> staging_;
  DeviceArray<Keypoint> keypoints_;
  DeviceArray<float> features_;
  DeviceArray<float> weights_;
  DeviceArray<float> pose_{kPose};
  PinnedArray<float>* poses_ = nullptr;
};

std::vector<Keypoint> detect(int frame) {
  std::vector<Keypoint> points(400);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = {float(i) + frame, std::sin(0.1f * i + frame) * 300.f + 360.f, 0.9f};
  return points;
}

}  // namespace

int main() {
  constexpr int kFrames = 120;
  PinnedArray<float> poses(kFrames * kPose);
  {
    PoseNet net(std::vector<float>(kPose * 2 * kKeypoints, 0.01f));
    net.bind(poses);
    for (int f = 0; f < kFrames; ++f) net.submit(detect(f), f);
    net.drain();
  }
  for (int f = 0; f < kFrames; ++f) std::printf("%d %.3f %.3f %.3f\n", f, poses[f * kPose], poses[f * kPose + 1], poses[f * kPose + 2]);
  return 0;
}
