#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

// Search for transfer orbits: departure windows are evaluated on several lanes and reduced
// on the caller's stream.
namespace transfer {

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void delta_v_kernel(const float3* from, const float3* to, float* cost, int n, float tof) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float dx = to[i].x - from[i].x, dy = to[i].y - from[i].y, dz = to[i].z - from[i].z;
  cost[i] = sqrtf(dx * dx + dy * dy + dz * dz) / tof;
}

__global__ void best_kernel(const float* const* cost, int lanes, float* best, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float b = cost[0][i];
  for (int l = 1; l < lanes; ++l) b = fminf(b, cost[l][i]);
  best[i] = b;
}

class Lane {
 public:
  explicit Lane(int n) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    check(cudaMalloc(&cost_, n * sizeof(float)));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaFree(cost_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  float* cost() const { return cost_; }

  void follow(cudaEvent_t e) { check(cudaStreamWaitEvent(stream_, e, 0)); }
  void lead(cudaStream_t s) {
    check(cudaEventRecord(done_, stream_));
    check(cudaStreamWaitEvent(s, done_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  float* cost_ = nullptr;
};

class WindowSearch {
 public:
  WindowSearch(int n, int lanes, cudaStream_t stream) : n_(n), stream_(stream) {
    check(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    for (int l = 0; l < lanes; ++l) lanes_.push_back(std::make_unique<Lane>(n));
    std::vector<float*> table;
    for (auto& lane : lanes_) table.push_back(lane->cost());
    check(cudaMalloc(&table_, table.size() * sizeof(float*)));
    check(cudaMemcpyAsync(table_, table.data(), table.size() * sizeof(float*), cudaMemcpyHostToDevice,
                          stream_));
    check(cudaStreamSynchronize(stream_));
  }
  ~WindowSearch() {
    cudaStreamSynchronize(stream_);
    for (auto& lane : lanes_) cudaStreamSynchronize(lane->stream());
    cudaFree(table_);
    cudaEventDestroy(start_);
  }
  WindowSearch(const WindowSearch&) = delete;
  WindowSearch& operator=(const WindowSearch&) = delete;

  // All arrays belong to the caller's stream.
  void run(const float3* from, const float3* to, float first_tof, float step, float* best) {
    fork();
    for_each_lane([&](Lane& lane, int l) {
      delta_v_kernel<<<blocks(), 128, 0, lane.stream()>>>(from, to, lane.cost(), n_,
                                                          first_tof + l * step);
      check(cudaGetLastError());
    });
    join();
    best_kernel<<<blocks(), 128, 0, stream_>>>(table_, static_cast<int>(lanes_.size()), best, n_);
    check(cudaGetLastError());
  }

 private:
  unsigned blocks() const { return (n_ + 127) / 128; }

  void for_each_lane(const std::function<void(Lane&, int)>& fn) {
    for (size_t l = 0; l < lanes_.size(); ++l) fn(*lanes_[l], static_cast<int>(l));
  }

  void fork() {
    check(cudaEventRecord(start_, stream_));
    for (auto& lane : lanes_) lane->follow(start_);
  }

  void join() {
    for (auto& lane : lanes_) lane->lead(stream_);
  }

  int n_;
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes_;
  float** table_ = nullptr;
};

}  // namespace transfer
