// Staging of sonar pings. The receiver delivers one block of samples per transducer group; each group has page-locked memory, a
// device ring and a stream of its own. The acquisition thread fills the staging memory for a ping as soon as the previous one
// has been picked up.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace sonar {

#define SONAR_CHECK(call)                                                                     \
  do {                                                                                        \
    const cudaError_t status = (call);                                                        \
    if (status != cudaSuccess) {                                                              \
      std::fprintf(stderr, "[sonar] %s -> %s\n", #call, cudaGetErrorString(status));          \
      std::abort();                                                                           \
    }                                                                                         \
  } while (0)

using Sample = std::int16_t;

__global__ void matched_filter(const Sample* echo, float* response, int n, int taps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int t = 0; t < taps && i + t < n; ++t) acc += echo[i + t] * __sinf(0.1f * t);
  response[i] = acc;
}

class Group {
 public:
  explicit Group(int samples) : samples_(samples) {
    SONAR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SONAR_CHECK(cudaMallocHost(&staging_, samples * sizeof(Sample)));
    SONAR_CHECK(cudaMalloc(&echo_, samples * sizeof(Sample)));
    SONAR_CHECK(cudaMalloc(&response_, samples * sizeof(float)));
  }
  ~Group() {
    cudaStreamSynchronize(stream_);
    cudaFree(response_);
    cudaFree(echo_);
    cudaFreeHost(staging_);
    cudaStreamDestroy(stream_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  void fill(const Sample* block) { std::memcpy(staging_, block, samples_ * sizeof(Sample)); }

  void pick_up(cudaEvent_t picked_up) {
    SONAR_CHECK(cudaMemcpyAsync(echo_, staging_, samples_ * sizeof(Sample), cudaMemcpyHostToDevice, stream_));
    SONAR_CHECK(cudaEventRecord(picked_up, stream_));
    matched_filter<<<(samples_ + 255) / 256, 256, 0, stream_>>>(echo_, response_, samples_, 512);
    SONAR_CHECK(cudaGetLastError());
  }

 private:
  int samples_;
  cudaStream_t stream_ = nullptr;
  Sample* staging_ = nullptr;
  Sample* echo_ = nullptr;
  float* response_ = nullptr;
};

class PingStager {
 public:
  explicit PingStager(int samples) : port_(samples), starboard_(samples) {
    for (cudaEvent_t& event : picked_up_) SONAR_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  ~PingStager() {
    for (cudaEvent_t event : picked_up_) cudaEventDestroy(event);
  }
  PingStager(const PingStager&) = delete;
  PingStager& operator=(const PingStager&) = delete;

  void ping(const Sample* port, const Sample* starboard) {
    wait_staging_free();
    port_.fill(port);
    starboard_.fill(starboard);
    port_.pick_up(picked_up_[0]);
    starboard_.pick_up(picked_up_[1]);
  }

 private:
  void wait_staging_free() {
    for (cudaEvent_t event : picked_up_) SONAR_CHECK(cudaEventSynchronize(event));
  }

  Group port_;
  Group starboard_;
  cudaEvent_t picked_up_[2] = {};
};

// Stands in for the receiver when the vessel is in dock.
class Replay {
 public:
  explicit Replay(int samples) : samples_(samples), data_(4 * static_cast<std::size_t>(samples)) {
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<Sample>((i * 31) % 2001);
  }
  const Sample* block(int k) const { return data_.data() + (k % 4) * static_cast<std::size_t>(samples_); }

 private:
  int samples_;
  std::vector<Sample> data_;
};

}  // namespace sonar

int main() {
  constexpr int kSamples = 1 << 22;
  sonar::Replay replay(kSamples);
  sonar::PingStager stager(kSamples);
  for (int k = 0; k < 64; ++k) stager.ping(replay.block(2 * k), replay.block(2 * k + 1));
  return 0;
}
