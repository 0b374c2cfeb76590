// Column-partitioned GEMM over all GPUs. On each device two streams share one
// cuBLAS workspace; panels come home through peer copies.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CHECK(x)                                                                      \
  do {                                                                                \
    if (int rc_ = static_cast<int>(x)) {                                              \
      std::fprintf(stderr, "%s:%d rc=%d\n", __FILE__, __LINE__, rc_);                 \
      std::abort();                                                                   \
    }                                                                                 \
  } while (0)

constexpr size_t kWorkspace = size_t(32) << 20;

class DeviceLane {
 public:
  DeviceLane(int dev, int m, int k, int panel) : dev_(dev), m_(m), k_(k), panel_(panel) {
    CHECK(cudaSetDevice(dev));
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaStreamCreateWithFlags(&stream_[i], cudaStreamNonBlocking));
      CHECK(cudaMalloc(&b_[i], sizeof(float) * k * panel));
      CHECK(cudaMalloc(&c_[i], sizeof(float) * m * panel));
    }
    CHECK(cudaMalloc(&a_, sizeof(float) * m * k));
    CHECK(cudaMalloc(&workspace_, kWorkspace));
    CHECK(cudaEventCreateWithFlags(&gemmDone_, cudaEventDisableTiming));
    CHECK(cublasCreate(&blas_));
  }
  ~DeviceLane() {
    cudaSetDevice(dev_);
    for (auto s : stream_) cudaStreamSynchronize(s);
    cublasDestroy(blas_);
    for (int i = 0; i < 2; ++i) {
      cudaFree(b_[i]);
      cudaFree(c_[i]);
      cudaStreamDestroy(stream_[i]);
    }
    cudaFree(a_);
    cudaFree(workspace_);
    cudaEventDestroy(gemmDone_);
  }
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  void broadcastA(const float* a, int root) {
    CHECK(cudaSetDevice(dev_));
    CHECK(cudaMemcpyPeerAsync(a_, dev_, a, root, sizeof(float) * m_ * k_, stream_[0]));
    CHECK(cudaEventRecord(gemmDone_, stream_[0]));
  }

  void panel(const float* b, float* c, int root) {
    CHECK(cudaSetDevice(dev_));
    const int i = turn_;
    turn_ ^= 1;
    cudaStream_t s = stream_[i];
    CHECK(cudaMemcpyPeerAsync(b_[i], dev_, b, root, sizeof(float) * k_ * panel_, s));
    multiply(i);
    CHECK(cudaMemcpyPeerAsync(c, root, c_[i], dev_, sizeof(float) * m_ * panel_, s));
  }

  void wait() {
    CHECK(cudaSetDevice(dev_));
    for (auto s : stream_) CHECK(cudaStreamSynchronize(s));
  }

 private:
  void multiply(int i) {
    const float one = 1.f, zero = 0.f;
    CHECK(cudaStreamWaitEvent(stream_[i], gemmDone_, 0));
    CHECK(cublasSetStream(blas_, stream_[i]));
    CHECK(cublasSetWorkspace(blas_, workspace_, kWorkspace));
    CHECK(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, m_, panel_, k_, &one, a_, m_, b_[i], k_, &zero, c_[i], m_));
    CHECK(cudaEventRecord(gemmDone_, stream_[i]));
  }

  int dev_, m_, k_, panel_;
  int turn_ = 0;
  cudaStream_t stream_[2] = {};
  float *a_ = nullptr, *b_[2] = {}, *c_[2] = {};
  void* workspace_ = nullptr;
  cudaEvent_t gemmDone_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

// a, b and c live on device `root` and are idle when this is called.
void multiGpuGemm(const float* a, const float* b, float* c, int m, int n, int k, int panel, int root) {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  std::vector<std::unique_ptr<DeviceLane>> lanes;
  for (int d = 0; d < devices; ++d) {
    lanes.push_back(std::make_unique<DeviceLane>(d, m, k, panel));
    lanes.back()->broadcastA(a, root);
  }
  for (int p = 0; p * panel < n; ++p)
    lanes[p % devices]->panel(b + size_t(p) * panel * k, c + size_t(p) * panel * m, root);
  for (auto& l : lanes) l->wait();
}
