// Running spatial covariance of a sensor array (beamforming front end).
// R <- beta * R + X * X^T, one estimator for each frequency band.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace beam {

inline void rt(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
inline void bl(cublasStatus_t s, const char* what) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": cublas");
}
#define RT(x) ::beam::rt((x), #x)
#define BL(x) ::beam::bl((x), #x)

class Stream {
 public:
  Stream() { RT(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { if (s_) cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return s_; }
  void wait() const { RT(cudaStreamSynchronize(s_)); }

 private:
  cudaStream_t s_ = nullptr;
};

struct DeviceFree { void operator()(float* p) const { cudaFree(p); } };
using DeviceArray = std::unique_ptr<float, DeviceFree>;

DeviceArray deviceArray(size_t n) {
  float* p = nullptr;
  RT(cudaMalloc(&p, n * sizeof(float)));
  return DeviceArray(p);
}

struct PinnedFree { void operator()(float* p) const { cudaFreeHost(p); } };
using PinnedArray = std::unique_ptr<float, PinnedFree>;

PinnedArray pinnedArray(size_t n) {
  float* p = nullptr;
  RT(cudaMallocHost(&p, n * sizeof(float)));
  return PinnedArray(p);
}

__global__ void removeMean(const float* raw, float* centred, int sensors, int snaps) {
  int row = blockIdx.x;
  __shared__ float mean;
  if (threadIdx.x == 0) {
    float acc = 0.f;
    for (int k = 0; k < snaps; ++k) acc += raw[row + k * sensors];
    mean = acc / snaps;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < snaps; k += blockDim.x)
    centred[row + k * sensors] = raw[row + k * sensors] - mean;
}

class CovarianceEstimator {
 public:
  CovarianceEstimator(int sensors, int maxSnaps)
      : sensors_(sensors), maxSnaps_(maxSnaps),
        centred_(deviceArray(size_t(sensors) * maxSnaps)),
        cov_(deviceArray(size_t(sensors) * sensors)) {
    BL(cublasCreate(&blas_));
    RT(cudaMemset(cov_.get(), 0, size_t(sensors) * sensors * sizeof(float)));
    RT(cudaDeviceSynchronize());
  }
  ~CovarianceEstimator() { cublasDestroy(blas_); }
  CovarianceEstimator(const CovarianceEstimator&) = delete;
  CovarianceEstimator& operator=(const CovarianceEstimator&) = delete;

  // All later work of this estimator is queued on `stream`.
  void attach(cudaStream_t stream) {
    stream_ = stream;
  }

  void update(const float* raw, int snaps, float beta) {
    if (snaps > maxSnaps_) throw std::length_error("snapshots");
    removeMean<<<sensors_, 128, 0, stream_>>>(raw, centred_.get(), sensors_, snaps);
    RT(cudaGetLastError());
    accumulate(snaps, beta);
  }

  void download(float* pinned) const {
    RT(cudaMemcpyAsync(pinned, cov_.get(), size_t(sensors_) * sensors_ * sizeof(float),
                       cudaMemcpyDeviceToHost, stream_));
  }

 private:
  void accumulate(int snaps, float beta) {
    const float alpha = 1.0f / snaps;
    BL(cublasSsyrk(blas_, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, sensors_, snaps, &alpha,
                   centred_.get(), sensors_, &beta, cov_.get(), sensors_));
  }

  int sensors_;
  int maxSnaps_;
  DeviceArray centred_;
  DeviceArray cov_;
  cublasHandle_t blas_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// One band: raw snapshots are uploaded from pinned memory that the caller
// leaves alone until finish() has returned.
class Band {
 public:
  Band(int sensors, int maxSnaps)
      : sensors_(sensors), est_(sensors, maxSnaps), raw_(deviceArray(size_t(sensors) * maxSnaps)),
        result_(pinnedArray(size_t(sensors) * sensors)) {
    est_.attach(stream_.get());
  }
  ~Band() { cudaStreamSynchronize(stream_.get()); }

  void feed(const float* pinnedSnaps, int snaps) {
    RT(cudaMemcpyAsync(raw_.get(), pinnedSnaps, size_t(sensors_) * snaps * sizeof(float),
                       cudaMemcpyHostToDevice, stream_.get()));
    est_.update(raw_.get(), snaps, 0.98f);
  }

  const float* finish() {
    est_.download(result_.get());
    stream_.wait();
    return result_.get();
  }

 private:
  int sensors_;
  Stream stream_;
  CovarianceEstimator est_;
  DeviceArray raw_;
  PinnedArray result_;
};

}  // namespace beam
