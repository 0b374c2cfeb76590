// MRI denoiser iteration captured as a graph: two filter branches fork from the
// capture stream and are merged before the norm is fetched.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define G(x)                                                                       \
  do {                                                                             \
    cudaError_t e_ = (x);                                                          \
    if (e_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(e_));          \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

__global__ void gradX(const float* u, float* g, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h) g[i] = (i % w) + 1 < w ? u[i + 1] - u[i] : 0.f;
}
__global__ void gradY(const float* u, float* g, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w * h) g[i] = i + w < w * h ? u[i + w] - u[i] : 0.f;
}
__global__ void descend(float* u, const float* f, const float* gx, const float* gy, const float* lambda, float* norm,
                        int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float step = *lambda * (f[i] - u[i]) + 0.1f * (gx[i] + gy[i]);
  u[i] += step;
  atomicAdd(norm, step * step);
}

struct HostPage {
  float lambda;
  float norm;
};

class TvDenoiser {
 public:
  TvDenoiser(int w, int h, const float* noisy, float* image) : w_(w), h_(h), f_(noisy), u_(image) {
    const size_t bytes = size_t(w) * h * sizeof(float);
    G(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    G(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    G(cudaMalloc(&gx_, bytes));
    G(cudaMalloc(&gy_, bytes));
    G(cudaMalloc(&scalars_, 2 * sizeof(float)));
    G(cudaMallocHost(&page_, sizeof(HostPage)));
    build();
  }
  ~TvDenoiser() {
    G(cudaStreamSynchronize(main_));
    cudaGraphExecDestroy(exec_);
    cudaFree(gx_);
    cudaFree(gy_);
    cudaFree(scalars_);
    cudaFreeHost(page_);
    cudaStreamDestroy(side_);
    cudaStreamDestroy(main_);
  }

  float iterate(float lambda) {
    page_->lambda = lambda;
    G(cudaGraphLaunch(exec_, main_));
    G(cudaStreamSynchronize(main_));
    return page_->norm;
  }

 private:
  void build() {
    cudaEvent_t fork, join;
    G(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    G(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    const int n = w_ * h_, blocks = (n + 255) / 256;
    cudaGraph_t graph;
    G(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal));
    G(cudaMemcpyAsync(scalars_, &page_->lambda, sizeof(float), cudaMemcpyHostToDevice, main_));
    G(cudaEventRecord(fork, main_));
    G(cudaStreamWaitEvent(side_, fork, 0));
    gradY<<<blocks, 256, 0, side_>>>(u_, gy_, w_, h_);
    G(cudaMemsetAsync(scalars_ + 1, 0, sizeof(float), side_));
    G(cudaEventRecord(join, side_));
    gradX<<<blocks, 256, 0, main_>>>(u_, gx_, w_, h_);
    G(cudaStreamWaitEvent(main_, join, 0));
    descend<<<blocks, 256, 0, main_>>>(u_, f_, gx_, gy_, scalars_, scalars_ + 1, n);
    G(cudaMemcpyAsync(&page_->norm, scalars_ + 1, sizeof(float), cudaMemcpyDeviceToHost, main_));
    G(cudaStreamEndCapture(main_, &graph));
    G(cudaGraphInstantiate(&exec_, graph, 0));
    G(cudaGraphDestroy(graph));
    G(cudaEventDestroy(fork));
    G(cudaEventDestroy(join));
  }

  int w_, h_;
  const float* f_;
  float* u_;
  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float *gx_ = nullptr, *gy_ = nullptr, *scalars_ = nullptr;
  HostPage* page_ = nullptr;
};

int denoise(int w, int h, const float* noisy, float* image, float tol, int maxIter, std::vector<float>& log) {
  TvDenoiser tv(w, h, noisy, image);
  float lambda = 0.2f;
  for (int k = 0; k < maxIter; ++k) {
    float norm = tv.iterate(lambda);
    log.push_back(norm);
    if (norm < tol) return k + 1;
    lambda *= 0.98f;
  }
  return maxIter;
}
