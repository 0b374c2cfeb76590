// Cone-beam CT: three filter branches of one projection run side by side and
// are merged by the back-projector.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CT_OK(x)                                                              \
  do {                                                                        \
    cudaError_t e = (x);                                                      \
    if (e != cudaSuccess) {                                                   \
      std::fprintf(stderr, "ct: %s (%d)\n", cudaGetErrorString(e), __LINE__); \
      std::exit(1);                                                           \
    }                                                                         \
  } while (0)

__global__ void filterRow(const float* p, float* out, int n, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.f;
  for (int k = -radius; k <= radius; ++k) {
    int j = i + k;
    if (j >= 0 && j < n) s += p[j];
  }
  out[i] = s / (2 * radius + 1);
}

__global__ void backProject(const float* a, const float* b, const float* c, float* volume, float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volume[i] += a[i] - 0.5f * b[i] + 0.25f * c[i];
  p[i] *= 0.99f;
}

struct Branch {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float* out = nullptr;
  int radius = 0;
};

class FilterBank {
 public:
  explicit FilterBank(int n) : n_(n) {
    CT_OK(cudaEventCreateWithFlags(&input_, cudaEventDisableTiming));
    int radius = 1;
    for (auto& b : branches_) {
      CT_OK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
      CT_OK(cudaEventCreateWithFlags(&b.done, cudaEventDisableTiming));
      CT_OK(cudaMalloc(reinterpret_cast<void**>(&b.out), n * sizeof(float)));
      b.radius = radius;
      radius *= 4;
    }
  }
  ~FilterBank() {
    CT_OK(cudaDeviceSynchronize());
    for (auto& b : branches_) {
      cudaFree(b.out);
      cudaEventDestroy(b.done);
      cudaStreamDestroy(b.stream);
    }
    cudaEventDestroy(input_);
  }

  void fork(const float* projection, cudaStream_t main) {
    CT_OK(cudaEventRecord(input_, main));
    for (auto& b : branches_) {
      CT_OK(cudaStreamWaitEvent(b.stream, input_, 0));
      filterRow<<<(n_ + 255) / 256, 256, 0, b.stream>>>(projection, b.out, n_, b.radius);
      CT_OK(cudaGetLastError());
      CT_OK(cudaEventRecord(b.done, b.stream));
    }
  }
  void join(cudaStream_t main) {
    for (const auto& b : branches_) CT_OK(cudaStreamWaitEvent(main, b.done, 0));
  }
  void project(float* volume, float* projection, cudaStream_t main) {
    backProject<<<(n_ + 255) / 256, 256, 0, main>>>(branches_[0].out, branches_[1].out, branches_[2].out,
                                                  volume, projection, n_);
    CT_OK(cudaGetLastError());
  }

 private:
  int n_;
  std::array<Branch, 3> branches_;
  cudaEvent_t input_ = nullptr;
};

int main() {
  const int n = 1 << 20;
  cudaStream_t main = nullptr;
  float *projection = nullptr, *volume = nullptr;
  CT_OK(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
  CT_OK(cudaMalloc(reinterpret_cast<void**>(&projection), n * sizeof(float)));
  CT_OK(cudaMalloc(reinterpret_cast<void**>(&volume), n * sizeof(float)));
  CT_OK(cudaMemsetAsync(projection, 0, n * sizeof(float), main));
  CT_OK(cudaMemsetAsync(volume, 0, n * sizeof(float), main));
  {
    FilterBank bank(n);
    for (int angle = 0; angle < 360; ++angle) {
      bank.fork(projection, main);
      bank.join(main);
      bank.project(volume, projection, main);
    }
  }
  std::vector<float> v(n);
  CT_OK(cudaMemcpyAsync(v.data(), volume, n * sizeof(float), cudaMemcpyDeviceToHost, main));
  CT_OK(cudaStreamSynchronize(main));
  std::printf("v[0]=%f\n", v[0]);
  CT_OK(cudaFree(projection));
  CT_OK(cudaFree(volume));
  CT_OK(cudaStreamDestroy(main));
  return 0;
}
