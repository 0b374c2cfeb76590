// A small execution queue in the style of portable parallel libraries, and an
// SIR epidemic model on a ring of cities built on top of it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define LANE_CHECK(call)                                                     \
  do {                                                                       \
    cudaError_t status = (call);                                             \
    if (status != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));   \
      std::exit(EXIT_FAILURE);                                               \
    }                                                                        \
  } while (0)

template <typename Body>
__global__ void forEachIndex(int n, Body body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

// In-order queue; several lanes may be active side by side in one process.
class Lane {
 public:
  Lane() { LANE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  template <typename Body>
  void run(int n, Body body) {
    forEachIndex<<<(n + 127) / 128, 128, 0, stream_>>>(n, body);
    LANE_CHECK(cudaGetLastError());
  }

  // Blocks until `host` holds the contents of `device`.
  template <typename T>
  void fetch(std::vector<T>& host, const T* device) {
    LANE_CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  cudaStream_t stream_ = nullptr;
};

template <typename T>
class Field {
 public:
  explicit Field(int n) : n_(n) { LANE_CHECK(cudaMalloc(&data_, sizeof(T) * n)); }
  ~Field() { cudaFree(data_); }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;
  T* data() const { return data_; }
  int size() const { return n_; }

 private:
  T* data_ = nullptr;
  int n_;
};

struct SeedCities {
  float* susceptible;
  float* infected;
  int origin;
  __device__ void operator()(int i) const {
    infected[i] = i == origin ? 0.01f : 0.0f;
    susceptible[i] = 1.0f - infected[i];
  }
};

struct InfectionStep {
  const float* susceptible;
  const float* infected;
  float* nextSusceptible;
  float* nextInfected;
  int n;
  float beta, gamma;
  __device__ void operator()(int i) const {
    float pressure = 0.8f * infected[i] + 0.1f * (infected[(i + 1) % n] + infected[(i + n - 1) % n]);
    float fresh = fminf(beta * pressure * susceptible[i], susceptible[i]);
    nextSusceptible[i] = susceptible[i] - fresh;
    nextInfected[i] = infected[i] + fresh - gamma * infected[i];
  }
};

class Epidemic {
 public:
  Epidemic(int cities, int origin) : s0_(cities), i0_(cities), s1_(cities), i1_(cities) {
    lane_.run(cities, SeedCities{s0_.data(), i0_.data(), origin});
  }

  void day(float beta, float gamma) {
    Field<float>& s = odd_ ? s1_ : s0_;
    Field<float>& i = odd_ ? i1_ : i0_;
    Field<float>& sNext = odd_ ? s0_ : s1_;
    Field<float>& iNext = odd_ ? i0_ : i1_;
    lane_.run(s.size(), InfectionStep{s.data(), i.data(), sNext.data(), iNext.data(), s.size(), beta, gamma});
    odd_ = !odd_;
  }

  float totalInfected() {
    Field<float>& i = odd_ ? i1_ : i0_;
    std::vector<float> host(i.size());
    lane_.fetch(host, i.data());
    float sum = 0.0f;
    for (float v : host) sum += v;
    return sum;
  }

 private:
  Field<float> s0_, i0_, s1_, i1_;
  bool odd_ = false;
  Lane lane_;
};

int main() {
  Epidemic epidemic(1 << 16, 1234);
  for (int day = 0; day < 90; ++day) {
    epidemic.day(0.35f, 0.12f);
    if (day % 10 == 9) std::printf("day %d: %f\n", day + 1, epidemic.totalInfected());
  }
  return 0;
}
