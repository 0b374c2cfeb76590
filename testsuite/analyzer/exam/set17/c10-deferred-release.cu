// Batched least squares.  Each half of the batch runs on its own stream with its own cuBLAS
// handle; temporaries are parked with events and freed when a later call finds them over.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lsq {

#define OK(x) do { if (cudaError_t rc = (x); rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc)); } while (0)
#define BLAS_OK(x) do { if ((x) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS: " #x); } while (0)

__global__ void center(const float* in, float* out, int n, int groups) {
  int g = blockIdx.x;
  if (g >= groups) return;
  __shared__ float mean;
  if (threadIdx.x == 0) {
    float s = 0.0f;
    for (int i = 0; i < n; ++i) s += in[g * n + i];
    mean = s / n;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[g * n + i] = in[g * n + i] - mean;
}

// Memory that streams may still use when its owner lets go of it.
class Graveyard {
 public:
  ~Graveyard() {
    for (Grave& g : graves_) {
      cudaEventSynchronize(g.over);
      bury(g);
    }
  }

  void park(float* memory, cudaStream_t lastUser) {
    Grave g{memory, nullptr};
    OK(cudaEventCreateWithFlags(&g.over, cudaEventDisableTiming));
    OK(cudaEventRecord(g.over, lastUser));
    graves_.push_back(g);
  }

  void sweep() {
    for (auto it = graves_.begin(); it != graves_.end();) {
      const cudaError_t state = cudaEventQuery(it->over);
      if (state == cudaErrorNotReady) {
        ++it;
        continue;
      }
      OK(state);
      bury(*it);
      it = graves_.erase(it);
    }
  }

 private:
  struct Grave {
    float* memory;
    cudaEvent_t over;
  };
  static void bury(Grave& g) {
    cudaEventDestroy(g.over);
    cudaFree(g.memory);
  }
  std::list<Grave> graves_;
};

class Half {
 public:
  Half() {
    OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    BLAS_OK(cublasCreate(&blas_));
    BLAS_OK(cublasSetStream(blas_, stream_));
  }
  ~Half() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;

  // Gram matrices of `groups` centred n x n blocks, between two points of the caller's stream.
  void gram(const float* in, float* out, int n, int groups, cudaEvent_t ready, cudaStream_t caller,
            Graveyard& graveyard) {
    const std::size_t count = static_cast<std::size_t>(groups) * n * n;
    float* centred = nullptr;
    OK(cudaMalloc(reinterpret_cast<void**>(&centred), count * sizeof(float)));
    OK(cudaStreamWaitEvent(stream_, ready, 0));
    center<<<groups * n, 128, 0, stream_>>>(in, centred, n, groups * n);
    OK(cudaGetLastError());
    const float one = 1.0f, zero = 0.0f;
    const long long stride = static_cast<long long>(n) * n;
    BLAS_OK(cublasSgemmStridedBatched(blas_, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, centred, n, stride,
                                      centred, n, stride, &zero, out, n, stride, groups));
    graveyard.park(centred, stream_);
    OK(cudaEventRecord(done_, stream_));
    OK(cudaStreamWaitEvent(caller, done_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  cublasHandle_t blas_ = nullptr;
};

class BatchedGram {
 public:
  BatchedGram() { OK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming)); }
  ~BatchedGram() { cudaEventDestroy(ready_); }
  BatchedGram(const BatchedGram&) = delete;
  BatchedGram& operator=(const BatchedGram&) = delete;

  // in and out hold `groups` (even) n x n matrices; both belong to `caller`.
  void run(const float* in, float* out, int n, int groups, cudaStream_t caller) {
    graveyard_.sweep();
    OK(cudaEventRecord(ready_, caller));
    const int each = groups / 2;
    const std::size_t middle = static_cast<std::size_t>(each) * n * n;
    halves_[0].gram(in, out, n, each, ready_, caller, graveyard_);
    halves_[1].gram(in + middle, out + middle, n, groups - each, ready_, caller, graveyard_);
  }

 private:
  cudaEvent_t ready_ = nullptr;
  Graveyard graveyard_;
  std::array<Half, 2> halves_;
};

}  // namespace lsq
