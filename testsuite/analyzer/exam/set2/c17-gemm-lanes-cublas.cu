// Independent small GEMMs on several lanes, one cuBLAS handle and one user
// workspace for each lane; the results are joined on the caller's stream.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace lanes {

inline void ok(cudaError_t e)
{
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void ok(cublasStatus_t s)
{
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(s));
}

constexpr size_t kWorkspace = size_t(4) << 20;

class Lane {
 public:
  Lane()
  {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    ok(cudaMalloc(&workspace_, kWorkspace));
    ok(cublasCreate(&handle_));
    // The order matters: cublasSetStream resets the workspace.
    ok(cublasSetStream(handle_, stream_));
    ok(cublasSetWorkspace(handle_, workspace_, kWorkspace));
  }
  ~Lane()
  {
    cudaStreamSynchronize(stream_);
    cublasDestroy(handle_);
    cudaFree(workspace_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void after(cudaEvent_t e) { ok(cudaStreamWaitEvent(stream_, e, 0)); }
  void before(cudaStream_t s)
  {
    ok(cudaEventRecord(done_, stream_));
    ok(cudaStreamWaitEvent(s, done_, 0));
  }
  void gemm(int n, const float* a, const float* b, float* c)
  {
    const float one = 1.f, zero = 0.f;
    ok(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
};

__global__ void add_all(float* const* parts, int count, float* out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.f;
  for (int p = 0; p < count; ++p) s += parts[p][i];
  out[i] = s;
}

struct Product {
  const float* a;
  const float* b;
  float* c;
};

class SumOfProducts {
 public:
  explicit SumOfProducts(int lanes)
  {
    for (int i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>());
    ok(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
  }
  ~SumOfProducts() { cudaEventDestroy(start_); }

  // device_c holds the c pointers of `products` on the device.
  void run(const std::vector<Product>& products, float* const* device_c, float* out, int n, cudaStream_t stream)
  {
    ok(cudaEventRecord(start_, stream));
    for (auto& l : lanes_) l->after(start_);
    for (size_t i = 0; i < products.size(); ++i) {
      const Product& p = products[i];
      lanes_[i % lanes_.size()]->gemm(n, p.a, p.b, p.c);
    }
    for (auto& l : lanes_) l->before(stream);
    add_all<<<(n * n + 255) / 256, 256, 0, stream>>>(device_c, static_cast<int>(products.size()), out, n * n);
    ok(cudaGetLastError());
  }

 private:
  std::vector<std::unique_ptr<Lane>> lanes_;
  cudaEvent_t start_ = nullptr;
};

}  // namespace lanes
