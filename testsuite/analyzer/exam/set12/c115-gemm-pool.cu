// Kernel ridge regression on streaming batches: Gram blocks are built on one stream, multiplied on another.
// Temporaries come from the stream-ordered pool.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK_CUDA(x)                                                                   \
  do {                                                                                  \
    cudaError_t e_ = (x);                                                               \
    if (e_ != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));  \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)
#define CHECK_BLAS(x)                                                                   \
  do {                                                                                  \
    if ((x) != CUBLAS_STATUS_SUCCESS) {                                                 \
      std::fprintf(stderr, "%s:%d: cuBLAS\n", __FILE__, __LINE__);                      \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kBatch = 1024;
constexpr int kCentres = 512;
constexpr int kFeatures = 64;
constexpr int kTargets = 32;

__global__ void gram(const float* batch, const float* centres, float* block) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y;
  if (i >= kBatch) return;
  float d = 0.f;
  for (int f = 0; f < kFeatures; ++f) {
    float t = batch[i * kFeatures + f] - centres[j * kFeatures + f];
    d += t * t;
  }
  block[j * kBatch + i] = 1.f / (1.f + d);
}

// Device memory of the pool.  The owner names the stream of the last use before letting go.
class PoolArray {
 public:
  PoolArray(std::size_t floats, cudaStream_t stream) : release_on_(stream) {
    CHECK_CUDA(cudaMallocAsync(&data_, floats * sizeof(float), stream));
  }
  ~PoolArray() {
    if (data_) CHECK_CUDA(cudaFreeAsync(data_, release_on_));
  }
  PoolArray(PoolArray&& o) noexcept : data_(std::exchange(o.data_, nullptr)), release_on_(o.release_on_) {}
  PoolArray(const PoolArray&) = delete;
  PoolArray& operator=(const PoolArray&) = delete;

  void release_on(cudaStream_t stream) { release_on_ = stream; }
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t release_on_;
};

class Predictor {
 public:
  Predictor(const float* pinned_centres, const float* pinned_weights) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&build_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&multiply_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&built_, cudaEventDisableTiming));
    CHECK_BLAS(cublasCreate(&blas_));
    CHECK_BLAS(cublasSetStream(blas_, multiply_));
    CHECK_CUDA(cudaMalloc(&centres_, sizeof(float) * kCentres * kFeatures));
    CHECK_CUDA(cudaMalloc(&weights_, sizeof(float) * kCentres * kTargets));
    CHECK_CUDA(cudaMemcpyAsync(centres_, pinned_centres, sizeof(float) * kCentres * kFeatures, cudaMemcpyHostToDevice, build_));
    CHECK_CUDA(cudaMemcpyAsync(weights_, pinned_weights, sizeof(float) * kCentres * kTargets, cudaMemcpyHostToDevice, multiply_));
  }
  ~Predictor() {
    CHECK_CUDA(cudaStreamSynchronize(build_));
    CHECK_CUDA(cudaStreamSynchronize(multiply_));
    CHECK_CUDA(cudaFree(weights_));
    CHECK_CUDA(cudaFree(centres_));
    CHECK_BLAS(cublasDestroy(blas_));
    CHECK_CUDA(cudaEventDestroy(built_));
    CHECK_CUDA(cudaStreamDestroy(multiply_));
    CHECK_CUDA(cudaStreamDestroy(build_));
  }
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  void predict(const float* pinned_batch, float* pinned_out) {
    PoolArray block = build(pinned_batch);
    CHECK_CUDA(cudaStreamWaitEvent(multiply_, built_, 0));
    block.release_on(multiply_);

    PoolArray out(std::size_t(kBatch) * kTargets, multiply_);
    const float one = 1.f, zero = 0.f;
    CHECK_BLAS(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, kBatch, kTargets, kCentres, &one, block.get(), kBatch, weights_,
                           kCentres, &zero, out.get(), kBatch));
    CHECK_CUDA(cudaMemcpyAsync(pinned_out, out.get(), sizeof(float) * kBatch * kTargets, cudaMemcpyDeviceToHost, multiply_));
  }

  void wait() { CHECK_CUDA(cudaStreamSynchronize(multiply_)); }

 private:
  PoolArray build(const float* pinned_batch) {
    PoolArray rows(std::size_t(kBatch) * kFeatures, build_);
    PoolArray block(std::size_t(kBatch) * kCentres, build_);
    CHECK_CUDA(cudaMemcpyAsync(rows.get(), pinned_batch, sizeof(float) * kBatch * kFeatures, cudaMemcpyHostToDevice, build_));
    gram<<<dim3(kBatch / 128, kCentres), 128, 0, build_>>>(rows.get(), centres_, block.get());
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(built_, build_));
    return block;
  }

  cudaStream_t build_ = nullptr, multiply_ = nullptr;
  cudaEvent_t built_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float *centres_ = nullptr, *weights_ = nullptr;
};

int main() {
  constexpr int kBatches = 40;
  float *centres = nullptr, *weights = nullptr, *batches = nullptr, *out = nullptr;
  CHECK_CUDA(cudaMallocHost(&centres, sizeof(float) * kCentres * kFeatures));
  CHECK_CUDA(cudaMallocHost(&weights, sizeof(float) * kCentres * kTargets));
  CHECK_CUDA(cudaMallocHost(&batches, sizeof(float) * kBatch * kFeatures * kBatches));
  CHECK_CUDA(cudaMallocHost(&out, sizeof(float) * kBatch * kTargets * kBatches));
  for (int i = 0; i < kCentres * kFeatures; ++i) centres[i] = std::sin(0.1f * i);
  for (int i = 0; i < kCentres * kTargets; ++i) weights[i] = std::cos(0.2f * i);
  for (int i = 0; i < kBatch * kFeatures * kBatches; ++i) batches[i] = std::sin(0.3f * i);
  {
    Predictor predictor(centres, weights);
    for (int b = 0; b < kBatches; ++b) predictor.predict(batches + b * kBatch * kFeatures, out + b * kBatch * kTargets);
    predictor.wait();
  }
  double norm = 0;
  for (int i = 0; i < kBatch * kTargets * kBatches; ++i) norm += double(out[i]) * out[i];
  std::printf("|y| = %.4f\n", std::sqrt(norm));
  for (float* p : {out, batches, weights, centres}) CHECK_CUDA(cudaFreeHost(p));
  return 0;
}
