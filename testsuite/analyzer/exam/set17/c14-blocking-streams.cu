// Old but sound: ordinary (blocking) streams next to the legacy default stream, which waits for
// all of them and which all of them wait for. Must not be built for per-thread default streams.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "this program relies on the legacy default stream"
#endif

namespace {

void must(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define MUST(call) must((call), __LINE__)

__global__ void integrate(float* pos, float* vel, int begin, int end, float dt) {
  const int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= end) return;
  vel[i] -= dt * pos[i];
  pos[i] += dt * vel[i];
}

__global__ void recenter(float* pos, int n) {
  __shared__ float s[256];
  float v = 0.f;
  for (int i = threadIdx.x; i < n; i += 256) v += pos[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  const float mean = s[0] / n;
  for (int i = threadIdx.x; i < n; i += 256) pos[i] -= mean;
}

class Swarm {
 public:
  Swarm(int n, int groups) : n_(n), streams_(groups) {
    MUST(cudaMalloc(reinterpret_cast<void**>(&pos_), n * sizeof(float)));
    MUST(cudaMalloc(reinterpret_cast<void**>(&vel_), n * sizeof(float)));
    for (cudaStream_t& s : streams_) MUST(cudaStreamCreate(&s));
  }
  Swarm(const Swarm&) = delete;
  ~Swarm() {
    MUST(cudaDeviceSynchronize());
    for (cudaStream_t s : streams_) cudaStreamDestroy(s);
    cudaFree(pos_);
    cudaFree(vel_);
  }

  void scatter(const std::vector<float>& start) {
    MUST(cudaMemcpy(pos_, start.data(), n_ * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cudaMemset(vel_, 0, n_ * sizeof(float)));
  }

  void advance(int steps, float dt) {
    for (int s = 0; s < steps; ++s) {
      eachGroup([&](int begin, int end, cudaStream_t stream) {
        integrate<<<(end - begin + 127) / 128, 128, 0, stream>>>(pos_, vel_, begin, end, dt);
      });
      recenter<<<1, 256>>>(pos_, n_);
      MUST(cudaGetLastError());
    }
  }

  void gather(std::vector<float>& out) const {
    out.resize(n_);
    MUST(cudaMemcpy(out.data(), pos_, n_ * sizeof(float), cudaMemcpyDeviceToHost));
  }

 private:
  template <typename Launch>
  void eachGroup(Launch&& launch) {
    const int groups = static_cast<int>(streams_.size());
    const int per = (n_ + groups - 1) / groups;
    for (int g = 0; g < groups; ++g) {
      const int begin = g * per;
      const int end = begin + per < n_ ? begin + per : n_;
      if (begin < end) launch(begin, end, streams_[g]);
    }
  }

  int n_;
  float *pos_ = nullptr, *vel_ = nullptr;
  std::vector<cudaStream_t> streams_;
};

}  // namespace

int main() {
  constexpr int kBodies = 1 << 18;
  std::vector<float> state(kBodies);
  for (int i = 0; i < kBodies; ++i) state[i] = float(i % 1000) * 0.001f;
  Swarm swarm(kBodies, 4);
  swarm.scatter(state);
  for (int round = 0; round < 10; ++round) {
    swarm.advance(25, 0.01f);
    swarm.gather(state);
    double sum = 0.0;
    for (float v : state) sum += double(v) * v;
    std::printf("%2d %.6f\n", round, sum / kBodies);
  }
  return 0;
}
