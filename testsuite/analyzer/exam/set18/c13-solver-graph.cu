// Preconditioned Richardson iteration as a graph with two parallel branches. The
// graph is rebuilt into the same executable when the problem gets larger.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace richardson {

#define CK(x) do { cudaError_t r_ = (x); if (r_ != cudaSuccess) { std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r_)); std::exit(2); } } while (0)

__global__ void residual(const float* diag, const float* x, const float* b, float* r, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = i > 0 ? x[i - 1] : 0.f, right = i < n - 1 ? x[i + 1] : 0.f;
  r[i] = b[i] - (diag[i] * x[i] - left - right);
}

__global__ void relax(const float* diag, const float* r, float* x, const float* omega, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += *omega * r[i] / diag[i];
}

__global__ void squares(const float* r, double* norm, int n) {
  double acc = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc += double(r[i]) * r[i];
  atomicAdd(norm, acc);
}

// Device vectors of one problem size; the graph keeps the set alive that it was built on.
struct Vectors {
  explicit Vectors(int n) : n(n) {
    for (float** p : {&diag, &x, &b, &r}) {
      CK(cudaMalloc(reinterpret_cast<void**>(p), n * sizeof(float)));
      CK(cudaMemset(*p, 0, n * sizeof(float)));
    }
    CK(cudaDeviceSynchronize());
  }
  ~Vectors() { for (float* p : {diag, x, b, r}) cudaFree(p); }
  Vectors(const Vectors&) = delete;
  Vectors& operator=(const Vectors&) = delete;
  int n;
  float *diag = nullptr, *x = nullptr, *b = nullptr, *r = nullptr;
};

class Iteration {
 public:
  Iteration() {
    for (cudaStream_t* s : {&main_, &side_}) CK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaEvent_t* e : {&fork_, &join_}) CK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    CK(cudaMallocHost(reinterpret_cast<void**>(&hostOmega_), sizeof(float)));
    CK(cudaMallocHost(reinterpret_cast<void**>(&hostNorm_), sizeof(double)));
    CK(cudaMalloc(reinterpret_cast<void**>(&omega_), sizeof(float)));
    CK(cudaMalloc(reinterpret_cast<void**>(&norm_), sizeof(double)));
  }
  ~Iteration() {
    cudaStreamSynchronize(main_);
    if (exec_) cudaGraphExecDestroy(exec_);
    vec_.reset();
    cudaFree(omega_);
    cudaFree(norm_);
    cudaFreeHost(hostOmega_);
    cudaFreeHost(hostNorm_);
    for (cudaEvent_t e : {fork_, join_}) cudaEventDestroy(e);
    for (cudaStream_t s : {main_, side_}) cudaStreamDestroy(s);
  }

  void bind(std::shared_ptr<Vectors> v) {
    cudaGraph_t g = capture(*v);
    cudaGraphExecUpdateResultInfo info{};
    if (exec_ && cudaGraphExecUpdate(exec_, g, &info) != cudaSuccess) {
      cudaGetLastError();
      CK(cudaGraphExecDestroy(exec_));
      exec_ = nullptr;
    }
    if (!exec_) CK(cudaGraphInstantiate(&exec_, g, 0));
    CK(cudaGraphDestroy(g));
    vec_ = std::move(v);  // every replay was waited for in step(), so the old set is idle
  }

  // One iteration; returns the squared residual norm before the update.
  double step(float omega) {
    *hostOmega_ = omega;
    CK(cudaGraphLaunch(exec_, main_));
    CK(cudaStreamSynchronize(main_));
    return *hostNorm_;
  }

 private:
  cudaGraph_t capture(const Vectors& v) {
    const int blocks = (v.n + 255) / 256;
    cudaGraph_t g = nullptr;
    CK(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemcpyAsync(omega_, hostOmega_, sizeof(float), cudaMemcpyHostToDevice, main_));
    residual<<<blocks, 256, 0, main_>>>(v.diag, v.x, v.b, v.r, v.n);
    branch(v);
    relax<<<blocks, 256, 0, main_>>>(v.diag, v.r, v.x, omega_, v.n);
    CK(cudaStreamWaitEvent(main_, join_, 0));
    CK(cudaStreamEndCapture(main_, &g));
    return g;
  }

  // The norm is computed next to the update; both only read r.
  void branch(const Vectors& v) {
    CK(cudaEventRecord(fork_, main_));
    CK(cudaStreamWaitEvent(side_, fork_, 0));
    CK(cudaMemsetAsync(norm_, 0, sizeof(double), side_));
    squares<<<32, 256, 0, side_>>>(v.r, norm_, v.n);
    CK(cudaMemcpyAsync(hostNorm_, norm_, sizeof(double), cudaMemcpyDeviceToHost, side_));
    CK(cudaEventRecord(join_, side_));
  }

  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaEvent_t fork_ = nullptr, join_ = nullptr;
  float *hostOmega_ = nullptr, *omega_ = nullptr;
  double *hostNorm_ = nullptr, *norm_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  std::shared_ptr<Vectors> vec_;
};

}  // namespace richardson

int main() {
  richardson::Iteration it;
  for (int n : {1 << 12, 1 << 16}) {
    auto v = std::make_shared<richardson::Vectors>(n);
    std::vector<float> d(n, 4.f), b(n, 1.f);
    CK(cudaMemcpy(v->diag, d.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(v->b, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CK(cudaDeviceSynchronize());
    it.bind(v);
    v.reset();
    double norm = 0;
    for (int k = 0; k < 50; ++k) norm = it.step(0.8f + 0.002f * k);
    std::printf("n=%d |r|^2=%g\n", n, norm);
  }
}
