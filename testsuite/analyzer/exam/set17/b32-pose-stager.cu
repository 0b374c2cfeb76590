// Sends the joint poses of a robot cell to the device once per frame for collision checks.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#define POSE_CHECK(call)                                                           \
  do {                                                                             \
    const cudaError_t rc_ = (call);                                                \
    if (rc_ != cudaSuccess)                                                        \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(rc_)); \
  } while (0)

namespace cell {

struct Pose {
  float x, y, z, radius;
};

__global__ void findContacts(const Pose* poses, int count, uint32_t* contacts, uint32_t frame) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Pose a = poses[i];
  for (int j = 0; j < count; ++j) {
    if (j == i) continue;
    const Pose b = poses[j];
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, r = a.radius + b.radius;
    if (dx * dx + dy * dy + dz * dz < r * r) atomicMax(&contacts[i], frame + 1);
  }
}

class Event {
 public:
  Event() { POSE_CHECK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(e_); }
  void record(cudaStream_t s) { POSE_CHECK(cudaEventRecord(e_, s)); }
  void gate(cudaStream_t s) const { POSE_CHECK(cudaStreamWaitEvent(s, e_, 0)); }
  void hostWait() const { POSE_CHECK(cudaEventSynchronize(e_)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class Stream {
 public:
  Stream() { POSE_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  ~Stream() {
    cudaStreamSynchronize(s_);
    cudaStreamDestroy(s_);
  }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

// Host and device copies of the poses. The host side is page-locked and used for every frame.
class PoseStager {
 public:
  explicit PoseStager(int capacity) : capacity_(capacity) {
    POSE_CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_), capacity * sizeof(Pose)));
    POSE_CHECK(cudaMalloc(reinterpret_cast<void**>(&device_), capacity * sizeof(Pose)));
  }
  PoseStager(const PoseStager&) = delete;
  ~PoseStager() {
    uploaded_.hostWait();
    cudaFree(device_);
    cudaFreeHost(host_);
  }

  void fill(const std::vector<Pose>& poses) {
    if (int(poses.size()) > capacity_) throw std::length_error("too many poses");
    count_ = int(poses.size());
    std::memcpy(host_, poses.data(), poses.size() * sizeof(Pose));
  }

  // Poses become visible to work that is put on `consumer` from here on.
  void publish(cudaStream_t consumer) {
    released_.gate(copy_);
    POSE_CHECK(cudaMemcpyAsync(device_, host_, count_ * sizeof(Pose), cudaMemcpyHostToDevice,
                               copy_));
    uploaded_.record(copy_);
    uploaded_.gate(consumer);
  }

  // Everything on `consumer` up to here may still read the device copy.
  void release(cudaStream_t consumer) { released_.record(consumer); }

  const Pose* device() const { return device_; }
  int count() const { return count_; }

 private:
  int capacity_;
  int count_ = 0;
  Pose* host_ = nullptr;
  Pose* device_ = nullptr;
  Stream copy_;
  Event uploaded_, released_;
};

class CollisionMonitor {
 public:
  explicit CollisionMonitor(int bodies) : bodies_(bodies), stager_(bodies) {
    POSE_CHECK(cudaMalloc(reinterpret_cast<void**>(&contacts_), bodies * sizeof(uint32_t)));
    POSE_CHECK(cudaMemsetAsync(contacts_, 0, bodies * sizeof(uint32_t), check_));
  }
  ~CollisionMonitor() {
    cudaStreamSynchronize(check_);
    cudaFree(contacts_);
  }

  // Runs until the tracker has no more frames; returns the last frame with contact per body.
  std::vector<uint32_t> watch(const std::function<bool(std::vector<Pose>&)>& tracker) {
    std::vector<Pose> poses;
    for (uint32_t frame = 0; tracker(poses); ++frame) {
      stager_.fill(poses);
      stager_.publish(check_);
      const int n = stager_.count();
      if (n > 0) {
        findContacts<<<(n + 127) / 128, 128, 0, check_>>>(stager_.device(), n, contacts_, frame);
        POSE_CHECK(cudaGetLastError());
      }
      stager_.release(check_);
    }
    std::vector<uint32_t> last(bodies_);
    POSE_CHECK(cudaMemcpyAsync(last.data(), contacts_, bodies_ * sizeof(uint32_t),
                               cudaMemcpyDeviceToHost, check_));
    POSE_CHECK(cudaStreamSynchronize(check_));
    return last;
  }

 private:
  int bodies_;
  Stream check_;
  PoseStager stager_;
  uint32_t* contacts_ = nullptr;
};

}  // namespace cell
