// Tide model with two basins. Each basin has an ordinary (blocking) stream, the
// exchange through the strait runs on the legacy default stream, which orders
// itself after all blocking streams and before whatever follows on them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "this file relies on the legacy default stream"
#endif

#define TIDE_OK(x)                                                     \
  do {                                                                 \
    cudaError_t e_ = (x);                                              \
    if (e_ != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));    \
      std::abort();                                                    \
    }                                                                  \
  } while (0)

__global__ void initLevel(float* level, int n, float value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) level[i] = value;
}

__global__ void slosh(const float* level, float* next, int n, float k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float l = level[i > 0 ? i - 1 : 0], r = level[i < n - 1 ? i + 1 : n - 1];
  next[i] = level[i] + k * (l + r - 2.0f * level[i]);
}

__global__ void strait(float* west, float* east, int n, float rate) {
  float flow = rate * (west[n - 1] - east[0]);
  west[n - 1] -= flow;
  east[0] += flow;
}

class Basin {
 public:
  Basin(int n, float level) : n_(n) {
    // Deliberately not cudaStreamNonBlocking, see above.
    TIDE_OK(cudaStreamCreate(&stream_));
    TIDE_OK(cudaMalloc(&now_, sizeof(float) * n_));
    TIDE_OK(cudaMalloc(&next_, sizeof(float) * n_));
    initLevel<<<grid(), 128, 0, stream_>>>(now_, n_, level);
    TIDE_OK(cudaGetLastError());
  }
  ~Basin() {
    cudaStreamSynchronize(stream_);
    cudaStreamSynchronize(cudaStreamLegacy);
    cudaFree(next_);
    cudaFree(now_);
    cudaStreamDestroy(stream_);
  }
  Basin(const Basin&) = delete;
  Basin& operator=(const Basin&) = delete;

  void step(float k) {
    slosh<<<grid(), 128, 0, stream_>>>(now_, next_, n_, k);
    TIDE_OK(cudaGetLastError());
    std::swap(now_, next_);
  }
  float* level() const { return now_; }
  int size() const { return n_; }

 private:
  int grid() const { return (n_ + 127) / 128; }
  int n_;
  cudaStream_t stream_ = nullptr;
  float *now_ = nullptr, *next_ = nullptr;
};

class TideModel {
 public:
  explicit TideModel(int n) : west_(n, 1.0f), east_(n, 0.0f) {}

  void run(int steps) {
    for (int s = 0; s < steps; ++s) {
      west_.step(0.2f);
      east_.step(0.2f);
      strait<<<1, 1>>>(west_.level(), east_.level(), west_.size(), 0.1f);
      TIDE_OK(cudaGetLastError());
    }
  }

  std::vector<float> eastLevel() const {
    std::vector<float> host(east_.size());
    TIDE_OK(cudaMemcpy(host.data(), east_.level(), host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  Basin west_, east_;
};

int main() {
  TideModel model(1 << 14);
  model.run(1000);
  std::vector<float> east = model.eastLevel();
  std::printf("east shore %f\n", east.front());
  return 0;
}
