// X-engine of a small radio interferometer: visibilities of all antenna pairs,
// integrated over time. The time axis is cut into slices whose partial sums are
// accumulated in a workspace and scaled into the output by a second kernel.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define XENG_CHECK(expr)                                                              \
  do {                                                                                \
    cudaError_t status_ = (expr);                                                     \
    if (status_ != cudaSuccess)                                                       \
      throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(status_)); \
  } while (0)

namespace xeng {

struct DeviceFree {
  void operator()(void* p) const noexcept { cudaFree(p); }
};

template <typename T>
using DevicePtr = std::unique_ptr<T[], DeviceFree>;

template <typename T>
DevicePtr<T> makeDevice(std::size_t n) {
  void* p = nullptr;
  XENG_CHECK(cudaMalloc(&p, n * sizeof(T)));
  return DevicePtr<T>(static_cast<T*>(p));
}

class Lane {
 public:
  Lane() { XENG_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Lane() { cudaStreamDestroy(stream_); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

__global__ void correlateSlice(const float2* volts, float2* partial, int antennas, int samples,
                               int slices) {
  const int baseline = blockIdx.x * blockDim.x + threadIdx.x;
  if (baseline >= antennas * antennas) return;
  const int a = baseline / antennas;
  const int b = baseline % antennas;
  const int per = samples / slices;
  const int first = blockIdx.y * per;
  float2 acc = make_float2(0.f, 0.f);
  for (int t = first; t < first + per; ++t) {
    const float2 x = volts[t * antennas + a];
    const float2 y = volts[t * antennas + b];
    acc.x += x.x * y.x + x.y * y.y;
    acc.y += x.y * y.x - x.x * y.y;
  }
  atomicAdd(&partial[baseline].x, acc.x);
  atomicAdd(&partial[baseline].y, acc.y);
}

__global__ void scaleVisibilities(const float2* partial, float2* vis, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) vis[i] = make_float2(partial[i].x * scale, partial[i].y * scale);
}

// Host-side launcher; same three-step interface for every correlator variant.
template <int kSlices, int kThreads = 128>
class SplitTimeCorrelator {
 public:
  struct Arguments {
    const float2* volts;
    float2* visibilities;
    int antennas;
    int samples;
  };

  static std::size_t workspaceSize(const Arguments& args) {
    return std::size_t(args.antennas) * args.antennas * sizeof(float2);
  }

  void initialize(const Arguments& args, void* workspace, cudaStream_t stream = nullptr) {
    args_ = args;
    partial_ = static_cast<float2*>(workspace);
    XENG_CHECK(cudaMemsetAsync(partial_, 0, workspaceSize(args), stream));
  }

  void run(cudaStream_t stream = nullptr) {
    const int baselines = args_.antennas * args_.antennas;
    const dim3 grid((baselines + kThreads - 1) / kThreads, kSlices);
    correlateSlice<<<grid, kThreads, 0, stream>>>(args_.volts, partial_, args_.antennas,
                                                  args_.samples, kSlices);
    scaleVisibilities<<<grid.x, kThreads, 0, stream>>>(partial_, args_.visibilities, baselines,
                                                       1.0f / args_.samples);
    XENG_CHECK(cudaGetLastError());
  }

  void operator()(const Arguments& args, void* workspace, cudaStream_t stream = nullptr) {
    initialize(args, workspace);
    run(stream);
  }

 private:
  Arguments args_{};
  float2* partial_ = nullptr;
};

}  // namespace xeng

int main() {
  using Correlator = xeng::SplitTimeCorrelator<8>;
  constexpr int kAntennas = 64;
  constexpr int kSamples = 4096;
  constexpr int kIntegrations = 32;

  std::vector<float2> host(std::size_t(kAntennas) * kSamples, make_float2(0.5f, -0.25f));
  std::vector<float2> result(kAntennas * kAntennas);

  auto volts = xeng::makeDevice<float2>(host.size());
  auto vis = xeng::makeDevice<float2>(result.size());
  xeng::Lane lane;

  Correlator::Arguments args{volts.get(), vis.get(), kAntennas, kSamples};
  auto workspace = xeng::makeDevice<char>(Correlator::workspaceSize(args));

  XENG_CHECK(cudaMemcpyAsync(volts.get(), host.data(), host.size() * sizeof(float2),
                             cudaMemcpyHostToDevice, lane.get()));
  Correlator correlate;
  for (int i = 0; i < kIntegrations; ++i) correlate(args, workspace.get(), lane.get());

  XENG_CHECK(cudaMemcpyAsync(result.data(), vis.get(), result.size() * sizeof(float2),
                             cudaMemcpyDeviceToHost, lane.get()));
  XENG_CHECK(cudaStreamSynchronize(lane.get()));
  std::printf("V(0,0) = %f %+fi\n", result[0].x, result[0].y);
  return EXIT_SUCCESS;
}
