// Lidar odometry: scans are decoded on the sensor stream and matched against
// the map on the planner stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace odometry {

inline void throw_on_error(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

/// Device memory of the stream-ordered allocator.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::size_t n, cudaStream_t stream) : n_(n), stream_(stream) {
    throw_on_error(cudaMallocAsync(reinterpret_cast<void**>(&data_), n * sizeof(T), stream_));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), n_(other.n_), stream_(other.stream_) {}
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  ~DeviceBuffer() {
    if (data_) cudaFreeAsync(data_, stream_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return n_; }
  cudaStream_t stream() const { return stream_; }
  void set_stream(cudaStream_t stream) { stream_ = stream; }

 private:
  T* data_ = nullptr;
  std::size_t n_;
  cudaStream_t stream_;
};

__global__ void decode_returns(const std::uint16_t* raw, float3* points, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) {
    const float range = raw[i] * 0.002f;
    const float angle = i * 0.0005f;
    points[i] = make_float3(range * cosf(angle), range * sinf(angle), 0.f);
  }
}

__global__ void match_points(const float3* points, std::size_t n, const float3* map, std::size_t map_size,
                             float* cost) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) {
    const float3 m = map[i % map_size];
    const float dx = points[i].x - m.x;
    const float dy = points[i].y - m.y;
    atomicAdd(cost, dx * dx + dy * dy);
  }
}

class ScanMatcher {
 public:
  ScanMatcher(const float3* map, std::size_t map_size) : map_(map), map_size_(map_size) {
    throw_on_error(cudaStreamCreateWithFlags(&sensor_, cudaStreamNonBlocking));
    throw_on_error(cudaStreamCreateWithFlags(&planner_, cudaStreamNonBlocking));
    throw_on_error(cudaEventCreateWithFlags(&decoded_, cudaEventDisableTiming));
    throw_on_error(cudaMalloc(reinterpret_cast<void**>(&cost_), sizeof(float)));
    throw_on_error(cudaMemsetAsync(cost_, 0, sizeof(float), planner_));
  }
  ~ScanMatcher() {
    cudaStreamSynchronize(sensor_);
    cudaStreamSynchronize(planner_);
    cudaFree(cost_);
    cudaEventDestroy(decoded_);
    cudaStreamDestroy(planner_);
    cudaStreamDestroy(sensor_);
  }
  ScanMatcher(const ScanMatcher&) = delete;
  ScanMatcher& operator=(const ScanMatcher&) = delete;

  /// Takes one raw scan (device memory, constant) and adds its cost.
  void process(const std::uint16_t* raw, std::size_t n) {
    DeviceBuffer<float3> scan = decode(raw, n);
    throw_on_error(cudaStreamWaitEvent(planner_, decoded_, 0));
    match(scan);
    scan.set_stream(planner_);
  }

  float cost() const {
    float value = 0.f;
    throw_on_error(cudaMemcpyAsync(&value, cost_, sizeof(float), cudaMemcpyDeviceToHost, planner_));
    throw_on_error(cudaStreamSynchronize(planner_));
    return value;
  }

 private:
  static unsigned blocks(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }

  DeviceBuffer<float3> decode(const std::uint16_t* raw, std::size_t n) {
    DeviceBuffer<float3> scan(n, sensor_);
    decode_returns<<<blocks(n), 256, 0, sensor_>>>(raw, scan.data(), n);
    throw_on_error(cudaGetLastError());
    throw_on_error(cudaEventRecord(decoded_, sensor_));
    return scan;
  }

  void match(const DeviceBuffer<float3>& scan) {
    match_points<<<blocks(scan.size()), 256, 0, planner_>>>(scan.data(), scan.size(), map_, map_size_, cost_);
    throw_on_error(cudaGetLastError());
  }

  const float3* map_;
  std::size_t map_size_;
  cudaStream_t sensor_ = nullptr;
  cudaStream_t planner_ = nullptr;
  cudaEvent_t decoded_ = nullptr;
  float* cost_ = nullptr;
};

}  // namespace odometry
