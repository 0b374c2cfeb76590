// Correlated Monte-Carlo paths for a basket option book.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define RISK_CUDA(expr)                                                              \
  do {                                                                               \
    cudaError_t err_ = (expr);                                                       \
    if (err_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::abort();                                                                  \
    }                                                                                \
  } while (0)

#define RISK_BLAS(expr)                                               \
  do {                                                                \
    if ((expr) != CUBLAS_STATUS_SUCCESS) {                            \
      std::fprintf(stderr, "%s:%d: cublas\n", __FILE__, __LINE__);    \
      std::abort();                                                   \
    }                                                                 \
  } while (0)

namespace risk {

__global__ void drawNormals(float* z, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned s = seed ^ (i * 2654435761u);
  float acc = 0.f;
  for (int k = 0; k < 12; ++k) {
    s = s * 1664525u + 1013904223u;
    acc += (s >> 8) * (1.0f / 16777216.0f);
  }
  z[i] = acc - 6.0f;
}

__global__ void payoff(const float* shocks, const float* spot, float* value, int assets, int paths, float strike) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= paths) return;
  float basket = 0.f;
  for (int a = 0; a < assets; ++a) basket += spot[a] * __expf(shocks[p * assets + a]);
  value[p] = fmaxf(basket / assets - strike, 0.f);
}

class BlasHandle {
 public:
  BlasHandle() { RISK_BLAS(cublasCreate(&handle_)); }
  ~BlasHandle() { cublasDestroy(handle_); }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_{};
};

// One handle per desk; creating a handle is slow, so they live as long as the process.
class BlasRegistry {
 public:
  cublasHandle_t acquire(const std::string& desk) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& slot = handles_[desk];
    if (!slot) slot = std::make_unique<BlasHandle>();
    return slot->get();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<BlasHandle>> handles_;
};

template <class T>
class Array {
 public:
  explicit Array(size_t n) : size_(n) { RISK_CUDA(cudaMalloc(&data_, n * sizeof(T))); }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

struct PricingContext {
  cudaStream_t stream{};
  BlasRegistry& blas;
  std::string desk;
  int assets;
  int paths;

  PricingContext(BlasRegistry& registry, std::string name, int a, int p)
      : blas(registry), desk(std::move(name)), assets(a), paths(p) {
    RISK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~PricingContext() { cudaStreamDestroy(stream); }
};

void simulate(PricingContext& ctx, Array<float>& normals, unsigned seed) {
  int n = static_cast<int>(normals.size());
  drawNormals<<<(n + 255) / 256, 256, 0, ctx.stream>>>(normals.data(), n, seed);
  RISK_CUDA(cudaGetLastError());
}

// shocks = L * normals, with L the Cholesky factor of the covariance.
void correlate(PricingContext& ctx, const Array<float>& chol, const Array<float>& normals, Array<float>& shocks) {
  const float one = 1.0f, zero = 0.0f;
  cublasHandle_t handle = ctx.blas.acquire(ctx.desk);
  RISK_BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, ctx.assets, ctx.paths, ctx.assets, &one, chol.data(),
                        ctx.assets, normals.data(), ctx.assets, &zero, shocks.data(), ctx.assets));
}

double price(PricingContext& ctx, const Array<float>& chol, const Array<float>& spot, float strike) {
  Array<float> normals(size_t(ctx.assets) * ctx.paths);
  Array<float> shocks(size_t(ctx.assets) * ctx.paths);
  Array<float> value(ctx.paths);
  simulate(ctx, normals, 20240229u);
  correlate(ctx, chol, normals, shocks);
  payoff<<<(ctx.paths + 127) / 128, 128, 0, ctx.stream>>>(shocks.data(), spot.data(), value.data(), ctx.assets,
                                                          ctx.paths, strike);
  RISK_CUDA(cudaGetLastError());

  std::vector<float> host(ctx.paths);
  RISK_CUDA(cudaMemcpyAsync(host.data(), value.data(), host.size() * sizeof(float), cudaMemcpyDeviceToHost, ctx.stream));
  RISK_CUDA(cudaStreamSynchronize(ctx.stream));
  RISK_CUDA(cudaDeviceSynchronize());
  double sum = 0;
  for (float v : host) sum += v;
  return sum / ctx.paths;
}

}  // namespace risk

int main() {
  using namespace risk;
  const int assets = 32, paths = 1 << 16;
  BlasRegistry registry;
  PricingContext ctx(registry, "equity-exotics", assets, paths);

  std::vector<float> hostChol(assets * assets, 0.f), hostSpot(assets, 100.f);
  for (int r = 0; r < assets; ++r)
    for (int c = 0; c <= r; ++c) hostChol[c * assets + r] = (r == c) ? 0.2f : 0.01f;

  Array<float> chol(hostChol.size()), spot(hostSpot.size());
  RISK_CUDA(cudaMemcpy(chol.data(), hostChol.data(), hostChol.size() * sizeof(float), cudaMemcpyHostToDevice));
  RISK_CUDA(cudaMemcpy(spot.data(), hostSpot.data(), hostSpot.size() * sizeof(float), cudaMemcpyHostToDevice));
  RISK_CUDA(cudaDeviceSynchronize());

  std::printf("basket call: %.4f\n", price(ctx, chol, spot, 101.f));
  return 0;
}
