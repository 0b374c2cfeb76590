// Column physics of a small weather model.  Columns are spread over ordinary streams; the bookkeeping
// between the steps uses the default stream, which those streams respect.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                     \
  do {                                                                                  \
    cudaError_t err_ = (call);                                                          \
    if (err_ != cudaSuccess) {                                                          \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

__global__ void radiate(const float* now, float* tendency, int first, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) tendency[first + i] += -1e-3f * (now[first + i] - 288.f);
}

__global__ void integrate(float* now, const float* tendency, int first, int count, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) now[first + i] += dt * tendency[first + i];
}

class ColumnPhysics {
 public:
  ColumnPhysics(int columns, int streams) : columns_(columns), streams_(streams) {
    for (auto& s : streams_) CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&now_, bytes()));
    CHECK(cudaMalloc(&before_, bytes()));
    CHECK(cudaMalloc(&tendency_, bytes()));
    std::vector<float> start(columns, 273.f);
    CHECK(cudaMemcpy(now_, start.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~ColumnPhysics() {
    cudaDeviceSynchronize();
    for (auto s : streams_) cudaStreamDestroy(s);
    cudaFree(now_);
    cudaFree(before_);
    cudaFree(tendency_);
  }
  ColumnPhysics(const ColumnPhysics&) = delete;
  ColumnPhysics& operator=(const ColumnPhysics&) = delete;

  void step(float dt) {
    CHECK(cudaMemset(tendency_, 0, bytes()));
    CHECK(cudaMemcpy(before_, now_, bytes(), cudaMemcpyDeviceToDevice));
    const int share = columns_ / static_cast<int>(streams_.size());
    for (size_t k = 0; k < streams_.size(); ++k) {
      const int first = static_cast<int>(k) * share;
      radiate<<<(share + 127) / 128, 128, 0, streams_[k]>>>(before_, tendency_, first, share);
      integrate<<<(share + 127) / 128, 128, 0, streams_[k]>>>(now_, tendency_, first, share, dt);
    }
    CHECK(cudaGetLastError());
  }

  float surface(int column) {
    float t = 0.f;
    CHECK(cudaMemcpy(&t, now_ + column, sizeof t, cudaMemcpyDeviceToHost));
    return t;
  }

 private:
  size_t bytes() const { return size_t(columns_) * sizeof(float); }

  int columns_;
  std::vector<cudaStream_t> streams_;
  float *now_ = nullptr, *before_ = nullptr, *tendency_ = nullptr;
};

int main() {
  ColumnPhysics physics(1 << 18, 4);
  for (int i = 0; i < 500; ++i) physics.step(60.f);
  std::printf("%.3f\n", physics.surface(77));
  return 0;
}
