// Uploads the joint model of a robot arm.  The arrays of one model are small and many, therefore they
// are sent in one batch.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace arm {

inline void ck(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Joint {
  float lowerDeg, upperDeg, maxVelocity, maxTorque;
};

// Collects copies and submits them together.
class UploadBatch {
 public:
  template <typename T>
  void add(T* device, const std::vector<T>& host) {
    dst_.push_back(device);
    src_.push_back(host.data());
    bytes_.push_back(host.size() * sizeof(T));
  }

  void submit(cudaStream_t stream) {
    cudaMemcpyAttributes attr{};
    attr.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    size_t firstOfAttr = 0;
    ck(cudaMemcpyBatchAsync(dst_.data(), src_.data(), bytes_.data(), dst_.size(), &attr, &firstOfAttr, 1, stream));
    dst_.clear();
    src_.clear();
    bytes_.clear();
  }

 private:
  std::vector<void*> dst_;
  std::vector<const void*> src_;
  std::vector<size_t> bytes_;
};

__global__ void clampTargets(float* target, const float* lower, const float* upper, int joints, int samples) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= joints * samples) return;
  int j = i % joints;
  target[i] = fminf(fmaxf(target[i], lower[j]), upper[j]);
}

class JointModel {
 public:
  explicit JointModel(int joints) : joints_(joints) {
    ck(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ck(cudaEventCreateWithFlags(&order_, cudaEventDisableTiming));
    ck(cudaMalloc(&lower_, joints * sizeof(float)));
    ck(cudaMalloc(&upper_, joints * sizeof(float)));
    ck(cudaMalloc(&weight_, joints * sizeof(float)));
  }
  ~JointModel() {
    cudaStreamSynchronize(stream_);
    cudaFree(lower_);
    cudaFree(upper_);
    cudaFree(weight_);
    cudaEventDestroy(order_);
    cudaStreamDestroy(stream_);
  }
  JointModel(const JointModel&) = delete;
  JointModel& operator=(const JointModel&) = delete;

  // Queues the upload of a new model; clamp() calls after it see the new limits.
  void load(const std::vector<Joint>& model) {
    std::vector<float> lower, upper, weight;
    lower.reserve(model.size());
    upper.reserve(model.size());
    weight.reserve(model.size());
    constexpr float kRadians = 3.14159265f / 180.f;
    for (const Joint& j : model) {
      lower.push_back(j.lowerDeg * kRadians);
      upper.push_back(j.upperDeg * kRadians);
      weight.push_back(1.f / std::sqrt(j.maxVelocity * j.maxTorque));
    }
    batch_.add(lower_, lower);
    batch_.add(upper_, upper);
    batch_.add(weight_, weight);
    batch_.submit(stream_);
  }

  // Clamps `samples` rows of joint targets, which `user` produces and consumes.
  void clamp(float* target, int samples, cudaStream_t user) {
    ck(cudaEventRecord(order_, user));
    ck(cudaStreamWaitEvent(stream_, order_, 0));
    const int n = joints_ * samples;
    clampTargets<<<(n + 127) / 128, 128, 0, stream_>>>(target, lower_, upper_, joints_, samples);
    ck(cudaGetLastError());
    ck(cudaEventRecord(order_, stream_));
    ck(cudaStreamWaitEvent(user, order_, 0));
  }

 private:
  int joints_;
  cudaStream_t stream_{};
  cudaEvent_t order_{};
  float *lower_ = nullptr, *upper_ = nullptr, *weight_ = nullptr;
  UploadBatch batch_;
};

}  // namespace arm
