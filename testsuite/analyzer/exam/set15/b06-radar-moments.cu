#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Moments of a Doppler weather radar: reflectivity and radial velocity per range gate.

#define RADAR_CHECK(call)                                                            \
  do {                                                                               \
    const cudaError_t rc_ = (call);                                                  \
    if (rc_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(rc_));       \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

enum class Moment { Reflectivity, Velocity };

__global__ void reflectivity_kernel(const float2* iq, float* dbz, int gates, int pulses) {
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= gates) return;
  float power = 0.f;
  for (int p = 0; p < pulses; ++p) {
    const float2 s = iq[p * gates + g];
    power += s.x * s.x + s.y * s.y;
  }
  dbz[g] = 10.f * log10f(power / pulses + 1e-12f);
}

__global__ void velocity_kernel(const float2* iq, float* vel, int gates, int pulses, float nyquist) {
  const int g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= gates) return;
  float re = 0.f, im = 0.f;
  for (int p = 1; p < pulses; ++p) {
    const float2 a = iq[(p - 1) * gates + g], b = iq[p * gates + g];
    re += a.x * b.x + a.y * b.y;
    im += a.x * b.y - a.y * b.x;
  }
  vel[g] = nyquist * atan2f(im, re) / 3.14159265f;
}

class PinnedArray {
 public:
  explicit PinnedArray(size_t n) { RADAR_CHECK(cudaMallocHost(&p_, n * sizeof(float))); }
  ~PinnedArray() { cudaFreeHost(p_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  float* data() const { return p_; }

 private:
  float* p_ = nullptr;
};

class MomentReader {
 public:
  MomentReader(int gates, int pulses)
      : gates_(gates), pulses_(pulses), host_dbz_(gates), host_vel_(gates) {
    RADAR_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RADAR_CHECK(cudaMalloc(&iq_, sizeof(float2) * gates * pulses));
    RADAR_CHECK(cudaMalloc(&field_, sizeof(float) * gates));
  }
  ~MomentReader() {
    cudaStreamSynchronize(stream_);
    cudaFree(field_);
    cudaFree(iq_);
    cudaStreamDestroy(stream_);
  }
  MomentReader(const MomentReader&) = delete;
  MomentReader& operator=(const MomentReader&) = delete;

  void load(const std::vector<float2>& iq) {
    RADAR_CHECK(cudaMemcpyAsync(iq_, iq.data(), iq.size() * sizeof(float2), cudaMemcpyHostToDevice,
                                stream_));
    RADAR_CHECK(cudaStreamSynchronize(stream_));
  }

  // The values stay valid until the same moment is fetched again.
  const float* fetch(Moment moment, float nyquist) {
    const int blocks = (gates_ + 127) / 128;
    if (moment == Moment::Reflectivity) {
      reflectivity_kernel<<<blocks, 128, 0, stream_>>>(iq_, field_, gates_, pulses_);
      RADAR_CHECK(cudaGetLastError());
      RADAR_CHECK(cudaMemcpyAsync(host_dbz_.data(), field_, sizeof(float) * gates_,
                                  cudaMemcpyDeviceToHost, stream_));
      RADAR_CHECK(cudaStreamSynchronize(stream_));
      return host_dbz_.data();
    }
    velocity_kernel<<<blocks, 128, 0, stream_>>>(iq_, field_, gates_, pulses_, nyquist);
    RADAR_CHECK(cudaGetLastError());
    RADAR_CHECK(cudaMemcpyAsync(host_vel_.data(), field_, sizeof(float) * gates_,
                                cudaMemcpyDeviceToHost, stream_));
    return host_vel_.data();
  }

 private:
  int gates_, pulses_;
  cudaStream_t stream_ = nullptr;
  float2* iq_ = nullptr;
  float* field_ = nullptr;
  PinnedArray host_dbz_;
  PinnedArray host_vel_;
};

struct Summary {
  float max = -1e30f;
  double mean = 0.0;
};

Summary summarise(const float* values, int n) {
  Summary s;
  for (int i = 0; i < n; ++i) {
    s.max = std::fmax(s.max, values[i]);
    s.mean += values[i];
  }
  s.mean /= n;
  return s;
}

int main() {
  constexpr int kGates = 4096;
  constexpr int kPulses = 64;
  std::vector<float2> iq(size_t(kGates) * kPulses);
  for (size_t i = 0; i < iq.size(); ++i)
    iq[i] = make_float2(std::cos(0.01f * i), std::sin(0.013f * i));

  MomentReader reader(kGates, kPulses);
  reader.load(iq);
  const Summary dbz = summarise(reader.fetch(Moment::Reflectivity, 0.f), kGates);
  const Summary vel = summarise(reader.fetch(Moment::Velocity, 26.4f), kGates);
  std::printf("dBZ max %.2f mean %.2f; velocity max %.2f mean %.2f\n", dbz.max, dbz.mean, vel.max,
              vel.mean);
  return 0;
}
