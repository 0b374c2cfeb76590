// Harmonic analysis of tide gauges. Stations are spread over a few ordinary streams; the
// shared spectrum is cleared and read back through the default stream.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void tide_check(cudaError_t rc, const char* file, int line) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(rc));
  std::exit(1);
}
#define TIDE_CHECK(x) tide_check((x), __FILE__, __LINE__)

namespace tide {

constexpr int kHours = 24 * 365;
constexpr int kConstituents = 64;
constexpr int kStreams = 4;

__global__ void project(const float* __restrict__ level, float* __restrict__ spectrum) {
  const int k = blockIdx.x;
  const float speed = 0.04f + 0.0025f * k;
  float re = 0.f, im = 0.f;
  for (int h = threadIdx.x; h < kHours; h += blockDim.x) {
    float s, c;
    sincospif(2.f * speed * h, &s, &c);
    re += level[h] * c;
    im += level[h] * s;
  }
  atomicAdd(&spectrum[2 * k], re / kHours);
  atomicAdd(&spectrum[2 * k + 1], im / kHours);
}

class StreamSet {
 public:
  StreamSet() {
    for (auto& s : streams_) TIDE_CHECK(cudaStreamCreate(&s));
  }
  ~StreamSet() {
    for (auto s : streams_) cudaStreamDestroy(s);
  }
  StreamSet(const StreamSet&) = delete;
  StreamSet& operator=(const StreamSet&) = delete;
  cudaStream_t operator[](int i) const { return streams_[i % kStreams]; }

 private:
  cudaStream_t streams_[kStreams] = {};
};

class Analyser {
 public:
  explicit Analyser(int stations) : stations_(stations) {
    TIDE_CHECK(cudaMallocHost(&levels_host_, bytes()));
    TIDE_CHECK(cudaMalloc(&levels_, bytes()));
    TIDE_CHECK(cudaMalloc(&spectrum_, sizeof(float) * 2 * kConstituents));
  }
  ~Analyser() {
    cudaDeviceSynchronize();
    cudaFree(spectrum_);
    cudaFree(levels_);
    cudaFreeHost(levels_host_);
  }
  Analyser(const Analyser&) = delete;
  Analyser& operator=(const Analyser&) = delete;

  // May be refilled whenever no analysis is running; analyse() returns when it has ended.
  float* levels(int station) { return levels_host_ + static_cast<std::size_t>(station) * kHours; }

  std::vector<float> analyse() {
    clear_spectrum();
    for (int s = 0; s < stations_; ++s) submit(s);
    return read_spectrum();
  }

 private:
  std::size_t bytes() const { return sizeof(float) * kHours * stations_; }

  void clear_spectrum() {
    TIDE_CHECK(cudaMemset(spectrum_, 0, sizeof(float) * 2 * kConstituents));
  }

  void submit(int station) {
    const std::size_t at = static_cast<std::size_t>(station) * kHours;
    cudaStream_t stream = streams_[station];
    TIDE_CHECK(cudaMemcpyAsync(levels_ + at, levels_host_ + at, sizeof(float) * kHours,
                               cudaMemcpyHostToDevice, stream));
    project<<<kConstituents, 128, 0, stream>>>(levels_ + at, spectrum_);
    TIDE_CHECK(cudaGetLastError());
  }

  std::vector<float> read_spectrum() const {
    std::vector<float> host(2 * kConstituents);
    TIDE_CHECK(cudaMemcpy(host.data(), spectrum_, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

  int stations_;
  StreamSet streams_;
  float* levels_host_ = nullptr;
  float* levels_ = nullptr;
  float* spectrum_ = nullptr;
};

}  // namespace tide

int main() {
  constexpr int stations = 32;
  tide::Analyser analyser(stations);
  for (int year = 0; year < 5; ++year) {
    for (int s = 0; s < stations; ++s) {
      float* level = analyser.levels(s);
      for (int h = 0; h < tide::kHours; ++h)
        level[h] = std::sin(6.2831853f * 0.0805f * h + 0.1f * s) + 0.2f * std::sin(0.26f * h + year);
    }
    const std::vector<float> spectrum = analyser.analyse();
    int strongest = 0;
    float best = 0.f;
    for (int k = 0; k < tide::kConstituents; ++k) {
      const float a = std::hypot(spectrum[2 * k], spectrum[2 * k + 1]);
      if (a > best) {
        best = a;
        strongest = k;
      }
    }
    std::printf("year %d: constituent %d amplitude %.4f\n", year, strongest, best);
  }
}
