// Three-centre integral transformation: (P|mn) blocks are contracted with the
// orbital coefficients on the GPU, the J matrix is folded on the host.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace qc {

struct PinnedDelete {
  void operator()(double* p) const { cudaFreeHost(p); }
};
struct DeviceDelete {
  void operator()(double* p) const { cudaFree(p); }
};
using PinnedArray = std::unique_ptr<double[], PinnedDelete>;
using DeviceArray = std::unique_ptr<double[], DeviceDelete>;

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void check(cublasStatus_t s) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublas");
}
inline PinnedArray pinned(size_t n) {
  double* p = nullptr;
  check(cudaMallocHost(reinterpret_cast<void**>(&p), n * sizeof(double)));
  return PinnedArray(p);
}
inline DeviceArray device(size_t n) {
  double* p = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(double)));
  return DeviceArray(p);
}

class TensorBackend {
 public:
  virtual ~TensorBackend() = default;
  virtual void setCoefficients(const double* c) = 0;
  // out(nmo x nao) = C^T * block
  virtual const double* transform(const double* block) = 0;
};

class HostBackend final : public TensorBackend {
 public:
  HostBackend(int nao, int nmo) : nao_(nao), nmo_(nmo), c_(size_t(nao) * nmo), out_(size_t(nmo) * nao) {}
  void setCoefficients(const double* c) override { c_.assign(c, c + size_t(nao_) * nmo_); }
  const double* transform(const double* block) override {
    for (int j = 0; j < nao_; ++j)
      for (int i = 0; i < nmo_; ++i) {
        double s = 0;
        for (int k = 0; k < nao_; ++k) s += c_[size_t(i) * nao_ + k] * block[size_t(j) * nao_ + k];
        out_[size_t(j) * nmo_ + i] = s;
      }
    return out_.data();
  }

 private:
  int nao_, nmo_;
  std::vector<double> c_, out_;
};

class CudaBackend final : public TensorBackend {
 public:
  CudaBackend(int nao, int nmo)
      : nao_(nao), nmo_(nmo), dC_(device(size_t(nao) * nmo)), dBlock_(device(size_t(nao) * nao)),
        dOut_(device(size_t(nmo) * nao)), hBlock_(pinned(size_t(nao) * nao)), hOut_(pinned(size_t(nmo) * nao)) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cublasCreate(&blas_));
    check(cublasSetStream(blas_, stream_));
  }
  ~CudaBackend() override {
    cudaStreamSynchronize(stream_);
    if (uploaded_) cudaEventDestroy(uploaded_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  void setCoefficients(const double* c) override {
    check(cudaMemcpyAsync(dC_.get(), c, sizeof(double) * nao_ * nmo_, cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
  }

  const double* transform(const double* block) override {
    const size_t in = size_t(nao_) * nao_, out = size_t(nmo_) * nao_;
    check(cudaEventSynchronize(uploaded()));
    std::copy(block, block + in, hBlock_.get());
    check(cudaMemcpyAsync(dBlock_.get(), hBlock_.get(), in * sizeof(double), cudaMemcpyHostToDevice, stream_));
    check(cudaEventRecord(uploaded(), stream_));
    const double one = 1.0, zero = 0.0;
    check(cublasDgemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, nmo_, nao_, nao_, &one, dC_.get(), nao_, dBlock_.get(), nao_,
                      &zero, dOut_.get(), nmo_));
    check(cudaMemcpyAsync(hOut_.get(), dOut_.get(), out * sizeof(double), cudaMemcpyDeviceToHost, stream_));
    return hOut_.get();
  }

 private:
  cudaEvent_t uploaded() {
    if (!uploaded_) check(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    return uploaded_;
  }
  int nao_, nmo_;
  DeviceArray dC_, dBlock_, dOut_;
  PinnedArray hBlock_, hOut_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

std::unique_ptr<TensorBackend> makeBackend(bool gpu, int nao, int nmo) {
  if (gpu) return std::make_unique<CudaBackend>(nao, nmo);
  return std::make_unique<HostBackend>(nao, nmo);
}

std::vector<double> foldCoulomb(TensorBackend& backend, const std::vector<std::vector<double>>& blocks,
                                const std::vector<double>& coeff, int nao, int nmo) {
  backend.setCoefficients(coeff.data());
  std::vector<double> j(size_t(nmo) * nao, 0.0);
  for (const auto& b : blocks) {
    const double* t = backend.transform(b.data());
    for (size_t i = 0; i < j.size(); ++i) j[i] += t[i] * t[i];
  }
  return j;
}

}  // namespace qc
