// River sediment model. Reaches are computed on ordinary (blocking) streams, the
// mixing at the confluence on the default stream, which orders itself with them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#error "this file needs the legacy default stream"
#endif

namespace river {

#define SAFE(x) do { if (cudaError_t c_ = (x)) { std::fprintf(stderr, "%s\n", cudaGetErrorString(c_)); std::exit(1); } } while (0)

__global__ void transport(const float* in, float* out, int n, float velocity) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float upstream = i > 0 ? in[i - 1] : in[0];
  out[i] = in[i] - velocity * (in[i] - upstream);
}

__global__ void confluence(const float* left, const float* right, int n, float share, float* below) {
  if (threadIdx.x == 0 && blockIdx.x == 0) below[0] = share * left[n - 1] + (1.f - share) * right[n - 1];
}

__global__ void total(const float* a, int n, float* mass) {
  __shared__ float part[128];
  float acc = 0.f;
  for (int i = threadIdx.x; i < n; i += 128) acc += a[i];
  part[threadIdx.x] = acc;
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) *mass = part[0];
}

class Reach {
 public:
  Reach(int cells, float velocity, float start) : n_(cells), velocity_(velocity) {
    SAFE(cudaStreamCreate(&stream_));
    std::vector<float> init(cells, start);
    for (float*& p : conc_) {
      SAFE(cudaMalloc(reinterpret_cast<void**>(&p), cells * sizeof(float)));
      SAFE(cudaMemcpy(p, init.data(), cells * sizeof(float), cudaMemcpyHostToDevice));
    }
  }
  ~Reach() {
    cudaStreamSynchronize(stream_);
    cudaStreamSynchronize(cudaStreamLegacy);
    for (float* p : conc_) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;

  void step() {
    transport<<<(n_ + 127) / 128, 128, 0, stream_>>>(conc_[now_], conc_[1 - now_], n_, velocity_);
    SAFE(cudaGetLastError());
    now_ = 1 - now_;
  }

  float* conc() const { return conc_[now_]; }
  int cells() const { return n_; }

 private:
  int n_;
  float velocity_;
  cudaStream_t stream_ = nullptr;
  float* conc_[2] = {};
  int now_ = 0;
};

class Network {
 public:
  Network() : north_(4000, 0.4f, 1.f), south_(4000, 0.7f, 2.f), main_(8000, 0.5f, 0.f) {
    SAFE(cudaMalloc(reinterpret_cast<void**>(&mass_), sizeof(float)));
  }
  ~Network() { cudaFree(mass_); }

  void run(int steps) {
    for (int k = 0; k < steps; ++k) {
      north_.step();
      south_.step();
      main_.step();
      mix();
    }
  }

  float mass() {
    total<<<1, 128>>>(main_.conc(), main_.cells(), mass_);
    float m = 0.f;
    SAFE(cudaMemcpy(&m, mass_, sizeof(m), cudaMemcpyDeviceToHost));
    return m;
  }

 private:
  // Default stream: starts after all three reaches and holds back their next step.
  void mix() {
    confluence<<<1, 32>>>(north_.conc(), south_.conc(), north_.cells(), 0.6f, main_.conc());
    SAFE(cudaGetLastError());
  }

  Reach north_, south_, main_;
  float* mass_ = nullptr;
};

}  // namespace river

int main() {
  river::Network n;
  n.run(2000);
  std::printf("%f\n", n.mass());
}
