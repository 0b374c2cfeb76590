// Matches mass spectra against two reference libraries, in the plain style: ordinary streams, pageable
// vectors, the default stream for everything that concerns both halves.
#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define SAFE(x)                                                                        \
  do {                                                                                 \
    cudaError_t e_ = (x);                                                              \
    if (e_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kBins = 1024;
constexpr int kEntries = 4096;

__global__ void makeLibrary(float* library, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kBins * kEntries) library[i] = static_cast<float>((i * 2654435761u + seed) >> 20) / 4096.f;
}

__global__ void squareRoots(const float* spectrum, float* scaled) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kBins) scaled[i] = sqrtf(spectrum[i]);
}

__global__ void scoreEntries(const float* library, const float* scaled, float* scores) {
  const int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= kEntries) return;
  float dot = 0.f;
  for (int b = 0; b < kBins; ++b) dot += library[e * kBins + b] * scaled[b];
  scores[e] += dot;
}

struct Larger {
  __host__ __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

struct Half {
  cudaStream_t stream = nullptr;
  float* library = nullptr;
  float* spectrum = nullptr;
  float* scores = nullptr;
};

class Matcher {
 public:
  Matcher() {
    for (int h = 0; h < 2; ++h) open(halves_[h], 1000u * h + 7u);
  }
  ~Matcher() {
    for (Half& h : halves_) {
      SAFE(cudaStreamDestroy(h.stream));
      SAFE(cudaFree(h.library));
      SAFE(cudaFree(h.spectrum));
      SAFE(cudaFree(h.scores));
    }
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Adds a scan to the running scores. `scan` may be refilled when this returns.
  void add(const std::vector<float>& scan) {
    for (Half& h : halves_) {
      float* scaled = nullptr;
      SAFE(cudaMalloc(&scaled, sizeof(float) * kBins));
      SAFE(cudaMemcpyAsync(h.spectrum, scan.data(), sizeof(float) * kBins, cudaMemcpyHostToDevice, h.stream));
      squareRoots<<<(kBins + 127) / 128, 128, 0, h.stream>>>(h.spectrum, scaled);
      scoreEntries<<<(kEntries + 127) / 128, 128, 0, h.stream>>>(h.library, scaled, h.scores);
      SAFE(cudaGetLastError());
      SAFE(cudaFree(scaled));
    }
  }

  // Best score of both libraries; starts the next compound.
  float finish() {
    float best = 0.f;
    for (Half& h : halves_) {
      best = thrust::reduce(thrust::device, h.scores, h.scores + kEntries, best, Larger{});
      SAFE(cudaMemset(h.scores, 0, sizeof(float) * kEntries));
    }
    return best;
  }

 private:
  static void open(Half& h, unsigned seed) {
    SAFE(cudaStreamCreate(&h.stream));
    SAFE(cudaMalloc(&h.library, sizeof(float) * kBins * kEntries));
    SAFE(cudaMalloc(&h.spectrum, sizeof(float) * kBins));
    SAFE(cudaMalloc(&h.scores, sizeof(float) * kEntries));
    makeLibrary<<<kBins * kEntries / 256, 256>>>(h.library, seed);
    SAFE(cudaGetLastError());
    SAFE(cudaMemset(h.scores, 0, sizeof(float) * kEntries));
  }

  Half halves_[2];
};

static void acquire(std::vector<float>& scan, int compound, int index) {
  for (int b = 0; b < kBins; ++b) scan[b] = static_cast<float>((b * 13 + compound * 101 + index) % 257);
}

int main(int argc, char** argv) {
  const int compounds = argc > 1 ? std::atoi(argv[1]) : 20;
  Matcher matcher;
  std::vector<float> scan(kBins);
  for (int c = 0; c < compounds; ++c) {
    for (int s = 0; s < 5; ++s) {
      acquire(scan, c, s);
      matcher.add(scan);
    }
    std::printf("compound %d: %.3f\n", c, matcher.finish());
  }
  return 0;
}
