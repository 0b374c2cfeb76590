// Per-scan perception for a rotating lidar.
//
// Ground removal, reflectivity equalisation and ego-motion flow do not depend
// on each other, so they run side by side; occupancy fusion needs all three.

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace lidar {

inline void check(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(e));
}
#define LIDAR_CHECK(x) ::lidar::check((x), __FILE__, __LINE__)

struct Point {
  float x, y, z, reflectivity;
};

__global__ void remove_ground(const Point* pts, int n, float height, unsigned char* keep) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) keep[i] = pts[i].z > height;
}

__global__ void equalise(const Point* pts, int n, float* reflect) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reflect[i] = log1pf(pts[i].reflectivity) * rsqrtf(1.0f + pts[i].x * pts[i].x + pts[i].y * pts[i].y);
}

__global__ void estimate_flow(const Point* pts, const Point* prev, int n, float3* flow) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flow[i] = make_float3(pts[i].x - prev[i].x, pts[i].y - prev[i].y, pts[i].z - prev[i].z);
}

__global__ void fuse(const Point* pts, const unsigned char* keep, const float* reflect, const float3* flow, int n,
                     float* cells, int side) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || !keep[i]) return;
  const int cx = min(max(static_cast<int>(pts[i].x + flow[i].x) + side / 2, 0), side - 1);
  const int cy = min(max(static_cast<int>(pts[i].y + flow[i].y) + side / 2, 0), side - 1);
  atomicAdd(&cells[cy * side + cx], reflect[i]);
}

class Lane {
 public:
  Lane() {
    LIDAR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    LIDAR_CHECK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  void start_after(cudaEvent_t e) { LIDAR_CHECK(cudaStreamWaitEvent(stream_, e, 0)); }
  void join_into(cudaStream_t main) {
    LIDAR_CHECK(cudaEventRecord(done_, stream_));
    LIDAR_CHECK(cudaStreamWaitEvent(main, done_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

class ScanPipeline {
 public:
  static constexpr int kSide = 512;

  ScanPipeline(cudaStream_t main, int max_points) : main_(main), max_points_(max_points) {
    LIDAR_CHECK(cudaEventCreateWithFlags(&scan_ready_, cudaEventDisableTiming));
    LIDAR_CHECK(cudaMalloc(&keep_, max_points));
    LIDAR_CHECK(cudaMalloc(&reflect_, sizeof(float) * max_points));
    LIDAR_CHECK(cudaMalloc(&flow_, sizeof(float3) * max_points));
  }
  ~ScanPipeline() {
    cudaStreamSynchronize(ground_lane_.stream());
    cudaStreamSynchronize(reflect_lane_.stream());
    cudaStreamSynchronize(flow_lane_.stream());
    cudaStreamSynchronize(main_);
    cudaFree(keep_);
    cudaFree(reflect_);
    cudaFree(flow_);
    cudaEventDestroy(scan_ready_);
  }
  ScanPipeline(const ScanPipeline&) = delete;
  ScanPipeline& operator=(const ScanPipeline&) = delete;

  // pts, prev and cells are written and read by the caller on the main stream.
  void process(const Point* pts, const Point* prev, int n, float* cells) {
    if (n > max_points_) throw std::length_error("scan too large");
    fork();
    const int grid = (n + 255) / 256;
    remove_ground<<<grid, 256, 0, ground_lane_.stream()>>>(pts, n, -1.6f, keep_);
    equalise<<<grid, 256, 0, reflect_lane_.stream()>>>(pts, n, reflect_);
    estimate_flow<<<grid, 256, 0, flow_lane_.stream()>>>(pts, prev, n, flow_);
    LIDAR_CHECK(cudaGetLastError());
    join();
    fuse<<<grid, 256, 0, main_>>>(pts, keep_, reflect_, flow_, n, cells, kSide);
    LIDAR_CHECK(cudaGetLastError());
  }

 private:
  void fork() {
    LIDAR_CHECK(cudaEventRecord(scan_ready_, main_));
    for (Lane* lane : {&ground_lane_, &reflect_lane_, &flow_lane_}) lane->start_after(scan_ready_);
  }

  void join() {
    for (Lane* lane : {&ground_lane_, &reflect_lane_, &flow_lane_}) lane->join_into(main_);
  }

  cudaStream_t main_;
  int max_points_;
  cudaEvent_t scan_ready_ = nullptr;
  unsigned char* keep_ = nullptr;
  float* reflect_ = nullptr;
  float3* flow_ = nullptr;
  Lane ground_lane_, reflect_lane_, flow_lane_;
};

}  // namespace lidar
