// Iterative reconstruction: subsets of projection angles fan out over several streams, one cuBLAS handle each.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

void require(bool good, const char* what, int line) {
  if (good) return;
  std::fprintf(stderr, "line %d: %s failed\n", line, what);
  std::exit(1);
}
#define CUDA_REQUIRE(x) require((x) == cudaSuccess, #x, __LINE__)
#define BLAS_REQUIRE(x) require((x) == CUBLAS_STATUS_SUCCESS, #x, __LINE__)

constexpr int kVoxels = 4096;
constexpr int kRays = 512;

__global__ void residual(const float* measured, float* projected, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) projected[i] = measured[i] - projected[i];
}

__global__ void apply_corrections(float* image, const float* corrections, int lanes, float relax) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kVoxels) return;
  float sum = 0.f;
  for (int l = 0; l < lanes; ++l) sum += corrections[l * kVoxels + i];
  image[i] = fmaxf(0.f, image[i] + relax * sum / lanes);
}

}  // namespace

// One stream with everything that a subset of angles needs.
class Lane {
 public:
  explicit Lane(int seed) {
    CUDA_REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_REQUIRE(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming));
    BLAS_REQUIRE(cublasCreate(&blas_));
    BLAS_REQUIRE(cublasSetStream(blas_, stream_));
    CUDA_REQUIRE(cudaMalloc(&system_, size_t(kRays) * kVoxels * sizeof(float)));
    CUDA_REQUIRE(cudaMalloc(&measured_, kRays * sizeof(float)));
    CUDA_REQUIRE(cudaMalloc(&work_, kRays * sizeof(float)));
    std::vector<float> a(size_t(kRays) * kVoxels), m(kRays, 1.f);
    for (size_t i = 0; i < a.size(); ++i) a[i] = (i * 131 + seed) % 97 == 0 ? 0.01f : 0.f;
    CUDA_REQUIRE(cudaMemcpyAsync(system_, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDA_REQUIRE(cudaMemcpyAsync(measured_, m.data(), m.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CUDA_REQUIRE(cudaStreamSynchronize(stream_));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaFree(work_);
    cudaFree(measured_);
    cudaFree(system_);
    cudaEventDestroy(finished_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void fork(cudaEvent_t ready) { CUDA_REQUIRE(cudaStreamWaitEvent(stream_, ready, 0)); }

  void correct(const float* image, float* correction) {
    const float one = 1.f, zero = 0.f;
    BLAS_REQUIRE(cublasSgemv(blas_, CUBLAS_OP_N, kRays, kVoxels, &one, system_, kRays, image, 1, &zero, work_, 1));
    residual<<<(kRays + 127) / 128, 128, 0, stream_>>>(measured_, work_, kRays);
    CUDA_REQUIRE(cudaGetLastError());
    BLAS_REQUIRE(cublasSgemv(blas_, CUBLAS_OP_T, kRays, kVoxels, &one, system_, kRays, work_, 1, &zero, correction, 1));
  }

  void join(cudaStream_t into) {
    CUDA_REQUIRE(cudaEventRecord(finished_, stream_));
    CUDA_REQUIRE(cudaStreamWaitEvent(into, finished_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t finished_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float *system_ = nullptr, *measured_ = nullptr, *work_ = nullptr;
};

class Reconstruction {
 public:
  explicit Reconstruction(int lanes) {
    CUDA_REQUIRE(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CUDA_REQUIRE(cudaEventCreateWithFlags(&image_ready_, cudaEventDisableTiming));
    CUDA_REQUIRE(cudaMalloc(&image_, kVoxels * sizeof(float)));
    CUDA_REQUIRE(cudaMalloc(&corrections_, size_t(lanes) * kVoxels * sizeof(float)));
    CUDA_REQUIRE(cudaMemsetAsync(image_, 0, kVoxels * sizeof(float), main_));
    for (int i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>(i));
  }
  ~Reconstruction() {
    lanes_.clear();
    cudaStreamSynchronize(main_);
    cudaFree(corrections_);
    cudaFree(image_);
    cudaEventDestroy(image_ready_);
    cudaStreamDestroy(main_);
  }
  Reconstruction(const Reconstruction&) = delete;
  Reconstruction& operator=(const Reconstruction&) = delete;

  void iterate(float relax) {
    CUDA_REQUIRE(cudaEventRecord(image_ready_, main_));
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i]->fork(image_ready_);
      lanes_[i]->correct(image_, corrections_ + i * kVoxels);
    }
    for (auto& lane : lanes_) lane->join(main_);
    apply_corrections<<<kVoxels / 256, 256, 0, main_>>>(image_, corrections_, int(lanes_.size()), relax);
    CUDA_REQUIRE(cudaGetLastError());
  }

  std::vector<float> image() const {
    std::vector<float> host(kVoxels);
    CUDA_REQUIRE(cudaMemcpyAsync(host.data(), image_, kVoxels * sizeof(float), cudaMemcpyDeviceToHost, main_));
    CUDA_REQUIRE(cudaStreamSynchronize(main_));
    return host;
  }

 private:
  cudaStream_t main_ = nullptr;
  cudaEvent_t image_ready_ = nullptr;
  float *image_ = nullptr, *corrections_ = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

int main() {
  Reconstruction rec(4);
  for (int i = 0; i < 50; ++i) rec.iterate(0.5f);
  std::printf("centre voxel %f\n", rec.image()[kVoxels / 2]);
  return 0;
}
