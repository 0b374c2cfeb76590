// Principal components of hyperspectral cubes: covariance and projection run as GEMMs, cube by cube.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CUDA_CALL(x)                                                                   \
  do {                                                                                 \
    cudaError_t rc = (x);                                                              \
    if (rc != cudaSuccess) {                                                           \
      std::fprintf(stderr, "CUDA %s (line %d)\n", cudaGetErrorString(rc), __LINE__);   \
      std::abort();                                                                    \
    }                                                                                  \
  } while (0)
#define CUBLAS_CALL(x)                                                      \
  do {                                                                      \
    cublasStatus_t st = (x);                                                \
    if (st != CUBLAS_STATUS_SUCCESS) {                                      \
      std::fprintf(stderr, "cuBLAS %d (line %d)\n", int(st), __LINE__);     \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

constexpr int kBands = 224;
constexpr int kPixels = 128 * 128;
constexpr int kComponents = 16;

// Device memory from the stream-ordered pool, tied to the stream it was taken on.
class PoolBuffer {
 public:
  PoolBuffer(std::size_t floats, cudaStream_t stream) : stream_(stream) {
    CUDA_CALL(cudaMallocAsync(&data_, floats * sizeof(float), stream_));
  }
  ~PoolBuffer() {
    if (data_) CUDA_CALL(cudaFreeAsync(data_, stream_));
  }
  PoolBuffer(PoolBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
  PoolBuffer(const PoolBuffer&) = delete;
  PoolBuffer& operator=(const PoolBuffer&) = delete;
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t stream_;
};

__global__ void centre(float* cube, int pixels) {
  int band = blockIdx.x;
  __shared__ float part[256];
  float acc = 0.f;
  for (int p = threadIdx.x; p < pixels; p += blockDim.x) acc += cube[p * kBands + band];
  part[threadIdx.x] = acc;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  float mean = part[0] / pixels;
  for (int p = threadIdx.x; p < pixels; p += blockDim.x) cube[p * kBands + band] -= mean;
}

class Projector {
 public:
  explicit Projector(const float* pinned_basis) {
    for (cudaStream_t* s : {&load_, &math_}) CUDA_CALL(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    CUDA_CALL(cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming));
    CUDA_CALL(cudaEventCreateWithFlags(&projected_, cudaEventDisableTiming));
    CUBLAS_CALL(cublasCreate(&blas_));
    CUBLAS_CALL(cublasSetStream(blas_, math_));
    CUDA_CALL(cudaMalloc(&basis_, sizeof(float) * kBands * kComponents));
    CUDA_CALL(cudaMemcpyAsync(basis_, pinned_basis, sizeof(float) * kBands * kComponents, cudaMemcpyHostToDevice, math_));
  }
  ~Projector() {
    CUDA_CALL(cudaStreamSynchronize(load_));
    CUDA_CALL(cudaStreamSynchronize(math_));
    CUDA_CALL(cudaFree(basis_));
    CUBLAS_CALL(cublasDestroy(blas_));
    cudaEventDestroy(projected_);
    cudaEventDestroy(loaded_);
    cudaStreamDestroy(math_);
    cudaStreamDestroy(load_);
  }
  Projector(const Projector&) = delete;
  Projector& operator=(const Projector&) = delete;

  void project(const float* pinned_cube, float* scores) {
    PoolBuffer cube = upload(pinned_cube);
    CUDA_CALL(cudaStreamWaitEvent(math_, loaded_, 0));
    const float one = 1.f, zero = 0.f;
    CUBLAS_CALL(cublasSgemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, kComponents, kPixels, kBands, &one, basis_, kBands, cube.get(),
                            kBands, &zero, scores, kComponents));
    CUDA_CALL(cudaEventRecord(projected_, math_));
    CUDA_CALL(cudaStreamWaitEvent(load_, projected_, 0));
  }

  void wait() { CUDA_CALL(cudaEventSynchronize(projected_)); }

 private:
  PoolBuffer upload(const float* pinned_cube) {
    PoolBuffer cube(std::size_t(kBands) * kPixels, load_);
    CUDA_CALL(cudaMemcpyAsync(cube.get(), pinned_cube, sizeof(float) * kBands * kPixels, cudaMemcpyHostToDevice, load_));
    centre<<<kBands, 256, 0, load_>>>(cube.get(), kPixels);
    CUDA_CALL(cudaEventRecord(loaded_, load_));
    return cube;
  }

  cudaStream_t load_ = nullptr, math_ = nullptr;
  cudaEvent_t loaded_ = nullptr, projected_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float* basis_ = nullptr;
};

int main() {
  constexpr int kCubes = 12;
  float *basis = nullptr, *cubes = nullptr, *scores = nullptr;
  CUDA_CALL(cudaMallocHost(&basis, sizeof(float) * kBands * kComponents));
  CUDA_CALL(cudaMallocHost(&cubes, sizeof(float) * kBands * kPixels * kCubes));
  CUDA_CALL(cudaMalloc(&scores, sizeof(float) * kComponents * kPixels * kCubes));
  for (int i = 0; i < kBands * kComponents; ++i) basis[i] = (i % 17) / 17.f;
  for (long i = 0; i < long(kBands) * kPixels * kCubes; ++i) cubes[i] = (i % 251) / 251.f;
  std::vector<float> first(kComponents);
  {
    Projector projector(basis);
    for (int c = 0; c < kCubes; ++c)
      projector.project(cubes + std::size_t(c) * kBands * kPixels, scores + std::size_t(c) * kComponents * kPixels);
    projector.wait();
    CUDA_CALL(cudaMemcpy(first.data(), scores, sizeof(float) * kComponents, cudaMemcpyDeviceToHost));
  }
  for (float s : first) std::printf("%.4f ", s);
  std::printf("\n");
  CUDA_CALL(cudaFree(scores));
  CUDA_CALL(cudaFreeHost(cubes));
  CUDA_CALL(cudaFreeHost(basis));
  return 0;
}
