// Sonar front end: hydrophone pings arrive on the host and are fed to two
// processing lanes in turn. Each lane has a stream, a pinned staging block and
// a device block of its own.

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace sonar {

#define SONAR_CUDA(expr)                                                              \
  do {                                                                                \
    if (cudaError_t rc = (expr); rc != cudaSuccess)                                   \
      throw std::runtime_error(std::string(#expr ": ") + cudaGetErrorString(rc));     \
  } while (0)

using Ping = std::vector<std::int16_t>;

__global__ void accumulate_power(const std::int16_t* samples, int n, int bins, float* power) {
  const int bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin >= bins) return;
  const int per_bin = n / bins;
  float acc = 0.f;
  for (int i = 0; i < per_bin; ++i) {
    const float s = static_cast<float>(samples[bin * per_bin + i]);
    acc += s * s;
  }
  power[bin] += acc;
}

class PingFeeder {
 public:
  PingFeeder(std::size_t max_samples, int bins) : max_samples_(max_samples), bins_(bins) {
    SONAR_CUDA(cudaEventCreateWithFlags(&staged_, cudaEventDisableTiming));
    for (Lane& lane : lanes_) open(lane);
  }
  ~PingFeeder() {
    for (Lane& lane : lanes_) close(lane);
    cudaEventDestroy(staged_);
  }
  PingFeeder(const PingFeeder&) = delete;
  PingFeeder& operator=(const PingFeeder&) = delete;

  void feed(const Ping& ping) {
    if (ping.size() > max_samples_) throw std::length_error("ping too long");
    Lane& lane = lanes_[next_];
    next_ = (next_ + 1) % lanes_.size();
    stage(lane, ping);
    upload(lane, ping.size());
    accumulate_power<<<(bins_ + 127) / 128, 128, 0, lane.stream>>>(lane.samples, static_cast<int>(ping.size()), bins_,
                                                                 lane.power);
    SONAR_CUDA(cudaGetLastError());
  }

  // Power per range bin over all pings fed so far.
  std::vector<float> spectrum() {
    std::vector<float> sum(bins_, 0.f);
    std::vector<float> part(bins_);
    for (Lane& lane : lanes_) {
      SONAR_CUDA(cudaMemcpyAsync(part.data(), lane.power, bins_ * sizeof(float), cudaMemcpyDeviceToHost, lane.stream));
      SONAR_CUDA(cudaStreamSynchronize(lane.stream));
      for (int b = 0; b < bins_; ++b) sum[b] += part[b];
    }
    return sum;
  }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    std::int16_t* staging = nullptr;
    std::int16_t* samples = nullptr;
    float* power = nullptr;
  };

  void open(Lane& lane) {
    SONAR_CUDA(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    SONAR_CUDA(cudaMallocHost(&lane.staging, max_samples_ * sizeof(std::int16_t)));
    SONAR_CUDA(cudaMalloc(&lane.samples, max_samples_ * sizeof(std::int16_t)));
    SONAR_CUDA(cudaMalloc(&lane.power, bins_ * sizeof(float)));
    SONAR_CUDA(cudaMemsetAsync(lane.power, 0, bins_ * sizeof(float), lane.stream));
  }

  void close(Lane& lane) {
    cudaStreamSynchronize(lane.stream);
    cudaFree(lane.power);
    cudaFree(lane.samples);
    cudaFreeHost(lane.staging);
    cudaStreamDestroy(lane.stream);
  }

  void stage(Lane& lane, const Ping& ping) {
    SONAR_CUDA(cudaEventSynchronize(staged_));
    std::memcpy(lane.staging, ping.data(), ping.size() * sizeof(std::int16_t));
  }

  void upload(Lane& lane, std::size_t samples) {
    SONAR_CUDA(cudaMemcpyAsync(lane.samples, lane.staging, samples * sizeof(std::int16_t), cudaMemcpyHostToDevice,
                               lane.stream));
    SONAR_CUDA(cudaEventRecord(staged_, lane.stream));
  }

  std::size_t max_samples_;
  int bins_;
  std::size_t next_ = 0;
  cudaEvent_t staged_ = nullptr;
  std::array<Lane, 2> lanes_;
};

}  // namespace sonar
