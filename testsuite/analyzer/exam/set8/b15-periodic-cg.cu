// Conjugate gradient step on a slab that is periodic in z. The operator overlaps the interior update
// with the exchange of the two boundary planes.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <initializer_list>
#include <stdexcept>

namespace slab {

inline void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}
inline void must(cudaError_t e) { must(e == cudaSuccess, cudaGetErrorString(e)); }

__global__ void interior(const float* p, float* q, int plane, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.y;
  if (i >= plane) return;
  const float* c = p + static_cast<size_t>(z) * plane;
  float s = 2.1f * c[i];
  if (z > 0) s -= c[i - plane];
  if (z + 1 < nz) s -= c[i + plane];
  q[static_cast<size_t>(z) * plane + i] = s;
}

__global__ void packPlanes(const float* p, float* outbox, int plane, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= plane) return;
  outbox[i] = p[i];
  outbox[plane + i] = p[static_cast<size_t>(nz - 1) * plane + i];
}

__global__ void addGhosts(const float* ghost, float* q, int plane, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= plane) return;
  q[i] -= ghost[plane + i];
  q[static_cast<size_t>(nz - 1) * plane + i] -= ghost[i];
}

struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  void open() {
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  void close() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
};

class PeriodicSlab {
 public:
  PeriodicSlab(int plane, int nz, cudaStream_t main) : plane_(plane), nz_(nz), main_(main) {
    for (Lane* l : {&interior_, &send_, &recv_}) l->open();
    must(cudaEventCreateWithFlags(&start_, cudaEventDisableTiming));
    must(cudaEventCreateWithFlags(&bulk_, cudaEventDisableTiming));
    must(cudaMalloc(&outbox_, 2 * plane * sizeof(float)));
    must(cudaMalloc(&ghost_, 2 * plane * sizeof(float)));
    must(cublasCreate(&blas_) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
    must(cublasSetStream(blas_, main) == CUBLAS_STATUS_SUCCESS, "cublasSetStream");
    must(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS, "pointer mode");
  }
  ~PeriodicSlab() {
    for (Lane* l : {&interior_, &send_, &recv_}) l->close();
    cudaStreamSynchronize(main_);
    cublasDestroy(blas_);
    cudaFree(outbox_);
    cudaFree(ghost_);
    cudaEventDestroy(start_);
    cudaEventDestroy(bulk_);
  }
  PeriodicSlab(const PeriodicSlab&) = delete;
  PeriodicSlab& operator=(const PeriodicSlab&) = delete;

  // q = A p
  void applyOperator(const float* p, float* q) {
    fork({&interior_, &send_, &recv_});
    const int grid = (plane_ + 127) / 128;

    interior<<<dim3(grid, nz_), 128, 0, interior_.stream>>>(p, q, plane_, nz_);
    must(cudaEventRecord(bulk_, interior_.stream));

    packPlanes<<<grid, 128, 0, send_.stream>>>(p, outbox_, plane_, nz_);
    must(cudaEventRecord(send_.done, send_.stream));

    must(cudaStreamWaitEvent(recv_.stream, send_.done, 0));
    must(cudaMemcpyAsync(ghost_, outbox_, 2 * plane_ * sizeof(float), cudaMemcpyDeviceToDevice, recv_.stream));
    must(cudaStreamWaitEvent(recv_.stream, bulk_, 0));
    addGhosts<<<grid, 128, 0, recv_.stream>>>(ghost_, q, plane_, nz_);

    join({&interior_, &send_});
  }

  // result = <p, q>, a device scalar
  void curvature(const float* p, const float* q, float* result) {
    const int n = plane_ * nz_;
    must(cublasSdot(blas_, n, p, 1, q, 1, result) == CUBLAS_STATUS_SUCCESS, "dot");
  }

  void step(const float* p, float* q, float* pAp) {
    applyOperator(p, q);
    curvature(p, q, pAp);
  }

 private:
  void fork(std::initializer_list<Lane*> lanes) {
    must(cudaEventRecord(start_, main_));
    for (Lane* l : lanes) must(cudaStreamWaitEvent(l->stream, start_, 0));
  }
  void join(std::initializer_list<Lane*> lanes) {
    for (Lane* l : lanes) {
      must(cudaEventRecord(l->done, l->stream));
      must(cudaStreamWaitEvent(main_, l->done, 0));
    }
  }

  int plane_, nz_;
  cudaStream_t main_;
  Lane interior_, send_, recv_;
  cudaEvent_t start_ = nullptr, bulk_ = nullptr;
  float *outbox_ = nullptr, *ghost_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

}  // namespace slab
