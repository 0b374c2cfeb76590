// Ligand docking: potential fields are built on one stream with stream-ordered
// memory and scored on another one, so that building and scoring overlap.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define GPU(call)                                                                 \
  do {                                                                            \
    const cudaError_t gpu_status_ = (call);                                       \
    if (gpu_status_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(gpu_status_)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

struct Pose {
  float x, y, z, angle;
};

// Array from the device's memory pool, tied to the stream that asked for it.
template <typename T>
class PoolArray {
 public:
  PoolArray(size_t n, cudaStream_t owner) : owner_(owner) { GPU(cudaMallocAsync(&data_, n * sizeof(T), owner)); }
  PoolArray(PoolArray&& o) noexcept : data_(std::exchange(o.data_, nullptr)), owner_(o.owner_) {}
  PoolArray& operator=(PoolArray&&) = delete;
  ~PoolArray() {
    if (data_) cudaFreeAsync(data_, owner_);
  }
  T* data() const { return data_; }
  void releaseOn(cudaStream_t last) { owner_ = last; }

 private:
  T* data_ = nullptr;
  cudaStream_t owner_;
};

__global__ void buildField(float* field, int n, Pose pose) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float r = pose.x * cosf(pose.angle) + pose.y * sinf(pose.angle) + pose.z + 0.01f * i;
  field[i] = 1.0f / (1.0f + r * r);
}

__global__ void scoreField(const float* field, const float* charges, int n, float* score) {
  float acc = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) acc += field[i] * charges[i];
  for (int d = 16; d > 0; d /= 2) acc += __shfl_down_sync(0xffffffffu, acc, d);
  if (threadIdx.x == 0) *score = acc;
}

class DockingQueue {
 public:
  // `charges` is device memory, complete before the queue is made.
  DockingQueue(const float* charges, int n, int maxPoses) : charges_(charges), n_(n), capacity_(maxPoses) {
    GPU(cudaStreamCreateWithFlags(&build_, cudaStreamNonBlocking));
    GPU(cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking));
    GPU(cudaEventCreateWithFlags(&edge_, cudaEventDisableTiming));
    GPU(cudaMalloc(&deviceScores_, sizeof(float) * capacity_));
    GPU(cudaMallocHost(&hostScores_, sizeof(float) * capacity_));
  }
  ~DockingQueue() {
    cudaStreamSynchronize(score_);
    cudaStreamSynchronize(build_);
    cudaFreeHost(hostScores_);
    cudaFree(deviceScores_);
    cudaEventDestroy(edge_);
    cudaStreamDestroy(score_);
    cudaStreamDestroy(build_);
  }
  DockingQueue(const DockingQueue&) = delete;
  DockingQueue& operator=(const DockingQueue&) = delete;

  bool submit(const Pose& pose) {
    if (count_ == capacity_) return false;
    PoolArray<float> field = prepare(pose);
    follow(score_, build_);
    evaluate(field, count_++);
    field.releaseOn(score_);
    return true;
  }

  std::vector<float> collect() {
    GPU(cudaMemcpyAsync(hostScores_, deviceScores_, sizeof(float) * count_, cudaMemcpyDeviceToHost, score_));
    GPU(cudaStreamSynchronize(score_));
    std::vector<float> out(hostScores_, hostScores_ + count_);
    count_ = 0;
    return out;
  }

 private:
  // Everything enqueued on `later` from now on runs after the work now in `earlier`.
  void follow(cudaStream_t later, cudaStream_t earlier) {
    GPU(cudaEventRecord(edge_, earlier));
    GPU(cudaStreamWaitEvent(later, edge_, 0));
  }

  PoolArray<float> prepare(const Pose& pose) {
    PoolArray<float> field(n_, build_);
    buildField<<<(n_ + 255) / 256, 256, 0, build_>>>(field.data(), n_, pose);
    GPU(cudaGetLastError());
    return field;
  }

  void evaluate(const PoolArray<float>& field, int slot) {
    scoreField<<<1, 32, 0, score_>>>(field.data(), charges_, n_, deviceScores_ + slot);
    GPU(cudaGetLastError());
  }

  const float* charges_;
  int n_, capacity_, count_ = 0;
  cudaStream_t build_ = nullptr, score_ = nullptr;
  cudaEvent_t edge_ = nullptr;
  float* deviceScores_ = nullptr;
  float* hostScores_ = nullptr;
};
