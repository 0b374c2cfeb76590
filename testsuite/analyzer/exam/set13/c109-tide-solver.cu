// Shallow-water tide model. The streams are ordinary (blocking) ones: copies and fills without a
// stream argument run on the legacy stream and order themselves against them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace tide {

inline void chk(cudaError_t e, const char* f, int l) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s:%d %s\n", f, l, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define CHK(x) ::tide::chk((x), __FILE__, __LINE__)

__global__ void momentum(float* u, const float* h, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] -= 9.81f * dt * (h[(i + 1) % n] - h[i]);
}

__global__ void continuity(float* h, const float* u, const float* depth, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) h[i] -= dt * depth[i] * (u[i] - u[(i + n - 1) % n]);
}

__global__ void energy(const float* h, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, h[i] * h[i]);
}

class Field {
 public:
  explicit Field(int n) : n_(n) { CHK(cudaMalloc(&p_, n_ * sizeof(float))); }
  ~Field() {
    if (p_) cudaFree(p_);
  }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  void fill_zero() { CHK(cudaMemset(p_, 0, n_ * sizeof(float))); }
  void assign(const std::vector<float>& v) {
    CHK(cudaMemcpy(p_, v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice));
  }
  std::vector<float> fetch() const {
    std::vector<float> v(n_);
    CHK(cudaMemcpy(v.data(), p_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
    return v;
  }
  float* data() const { return p_; }

 private:
  int n_;
  float* p_ = nullptr;
};

struct BlockingStream {
  cudaStream_t s{};
  BlockingStream() { CHK(cudaStreamCreate(&s)); }
  ~BlockingStream() { cudaStreamDestroy(s); }
  BlockingStream(const BlockingStream&) = delete;
  BlockingStream& operator=(const BlockingStream&) = delete;
  operator cudaStream_t() const { return s; }
};

class Basin {
 public:
  Basin(const std::vector<float>& depth, const std::vector<float>& height)
      : n_(static_cast<int>(depth.size())), u_(n_), h_(n_), depth_(n_), sum_(1) {
    depth_.assign(depth);
    h_.assign(height);
    u_.fill_zero();
  }

  ~Basin() { cudaStreamSynchronize(flow_); }

  void advance(int steps, float dt) {
    for (int i = 0; i < steps; ++i) {
      momentum<<<grid(), 128, 0, flow_>>>(u_.data(), h_.data(), n_, dt);
      continuity<<<grid(), 128, 0, flow_>>>(h_.data(), u_.data(), depth_.data(), n_, dt);
    }
  }

  // The legacy-stream fill stands between the flow kernels and the diagnostic ones.
  float potential_energy() {
    sum_.fill_zero();
    energy<<<grid(), 128, 0, diag_>>>(h_.data(), sum_.data(), n_);
    CHK(cudaGetLastError());
    return sum_.fetch()[0];
  }

  void dredge(const std::vector<float>& depth) { depth_.assign(depth); }

  std::vector<float> height() const { return h_.fetch(); }

 private:
  int grid() const { return (n_ + 127) / 128; }

  int n_;
  Field u_, h_, depth_, sum_;
  BlockingStream flow_, diag_;
};

}  // namespace tide

int main() {
  constexpr int kCells = 1 << 20;
  std::vector<float> depth(kCells, 40.f), height(kCells);
  for (int i = 0; i < kCells; ++i) height[i] = (i % 1000) * 1e-3f;
  tide::Basin basin(depth, height);
  for (int hour = 0; hour < 24; ++hour) {
    basin.advance(60, 1e-4f);
    std::printf("%02d:00 energy %g\n", hour, basin.potential_energy());
    if (hour == 12) {
      for (float& d : depth) d += 2.f;
      basin.dredge(depth);
    }
  }
  std::printf("final %g\n", basin.height()[123]);
  return 0;
}
