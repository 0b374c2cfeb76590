// GNSS correlator bank: one channel per tracked satellite, all sharing an ephemeris
// table that is replaced whenever a new navigation message has been decoded.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace gnss {

#define GNSS_ASSERT(call)                                                          \
  do {                                                                             \
    if (cudaError_t status = (call); status != cudaSuccess) {                      \
      std::fprintf(stderr, "%s -> %s\n", #call, cudaGetErrorString(status));       \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

struct Orbit {
  float radius, inclination, phase, doppler;
};
constexpr int kSatellites = 32;

__global__ void trackCode(const Orbit* orbits, int satellite, const short2* baseband, float* prompt,
                          int samples) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  const Orbit o = orbits[satellite];
  float s, c;
  sincosf(o.phase + o.doppler * i, &s, &c);
  atomicAdd(prompt, c * baseband[i].x - s * baseband[i].y);
}

class EphemerisTable {
 public:
  EphemerisTable() {
    GNSS_ASSERT(cudaStreamCreateWithFlags(&uploads_, cudaStreamNonBlocking));
    GNSS_ASSERT(cudaEventCreateWithFlags(&current_, cudaEventDisableTiming));
    GNSS_ASSERT(cudaMallocHost(&staging_, sizeof(Orbit) * kSatellites));
    GNSS_ASSERT(cudaMalloc(&device_, sizeof(Orbit) * kSatellites));
  }
  ~EphemerisTable() {
    cudaStreamSynchronize(uploads_);
    cudaFree(device_);
    cudaFreeHost(staging_);
    cudaEventDestroy(current_);
    cudaStreamDestroy(uploads_);
  }
  EphemerisTable(const EphemerisTable&) = delete;
  EphemerisTable& operator=(const EphemerisTable&) = delete;

  // Called once per navigation message, while no channel is integrating.
  void publish(const std::array<Orbit, kSatellites>& orbits) {
    GNSS_ASSERT(cudaEventSynchronize(current_));
    for (int i = 0; i < kSatellites; ++i) staging_[i] = orbits[i];
    GNSS_ASSERT(cudaMemcpyAsync(device_, staging_, sizeof(Orbit) * kSatellites, cudaMemcpyHostToDevice,
                                uploads_));
    GNSS_ASSERT(cudaEventRecord(current_, uploads_));
  }

  // Orders a reader's stream after the upload.
  void subscribe(cudaStream_t reader) const { GNSS_ASSERT(cudaStreamWaitEvent(reader, current_, 0)); }

  const Orbit* device() const { return device_; }

 private:
  cudaStream_t uploads_ = nullptr;
  cudaEvent_t current_ = nullptr;
  Orbit* staging_ = nullptr;
  Orbit* device_ = nullptr;
};

class Channel {
 public:
  Channel(const EphemerisTable& table, int satellite) : table_(table), satellite_(satellite) {
    GNSS_ASSERT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GNSS_ASSERT(cudaMalloc(&prompt_, sizeof(float)));
    table_.subscribe(stream_);
  }
  ~Channel() {
    cudaStreamSynchronize(stream_);
    cudaFree(prompt_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void integrate(const short2* baseband, int samples) {
    GNSS_ASSERT(cudaMemsetAsync(prompt_, 0, sizeof(float), stream_));
    trackCode<<<(samples + 255) / 256, 256, 0, stream_>>>(table_.device(), satellite_, baseband, prompt_,
                                                          samples);
    GNSS_ASSERT(cudaGetLastError());
  }

  float prompt() const {
    float value = 0.f;
    GNSS_ASSERT(cudaMemcpyAsync(&value, prompt_, sizeof(value), cudaMemcpyDeviceToHost, stream_));
    GNSS_ASSERT(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  const EphemerisTable& table_;
  int satellite_;
  cudaStream_t stream_ = nullptr;
  float* prompt_ = nullptr;
};

}  // namespace gnss

int main() {
  constexpr int kSamples = 1 << 15;
  short2* baseband = nullptr;
  GNSS_ASSERT(cudaMalloc(&baseband, sizeof(short2) * kSamples));
  GNSS_ASSERT(cudaMemset(baseband, 1, sizeof(short2) * kSamples));
  GNSS_ASSERT(cudaDeviceSynchronize());

  {
    gnss::EphemerisTable table;
    std::vector<std::unique_ptr<gnss::Channel>> channels;
    for (int sat = 0; sat < 12; ++sat) channels.push_back(std::make_unique<gnss::Channel>(table, sat));

    std::array<gnss::Orbit, gnss::kSatellites> orbits{};
    for (int message = 0; message < 6; ++message) {
      for (int sat = 0; sat < gnss::kSatellites; ++sat)
        orbits[sat] = gnss::Orbit{26.56e6f, 0.96f, 0.2f * sat + message, 1e-4f * sat};
      table.publish(orbits);
      for (auto& channel : channels) channel->integrate(baseband, kSamples);
      float best = 0.f;
      for (const auto& channel : channels) best = std::max(best, channel->prompt());
      std::printf("message %d: strongest prompt %.1f\n", message, best);
    }
  }
  GNSS_ASSERT(cudaFree(baseband));
  return EXIT_SUCCESS;
}
