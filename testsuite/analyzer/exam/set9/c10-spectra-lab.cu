// Spectral library of the mass spectrometer. Matching (GEMM) and peak counting
// (reduction) run on different streams but share one scratch block, which
// passes from stream to stream with an event.

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cub/device/device_reduce.cuh>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace lab {

inline void sure(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
inline void sure(cublasStatus_t rc, const char* what) {
  if (rc != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": cublas");
}

// One block of device memory, used by one stream after the other. Not thread safe.
class Scratch {
 public:
  Scratch() { sure(cudaEventCreateWithFlags(&last_use_, cudaEventDisableTiming), "scratch"); }
  ~Scratch() {
    cudaEventSynchronize(last_use_);
    cudaFree(block_);
    cudaEventDestroy(last_use_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Use of the block by one stream, until the loan ends.
  class Loan {
   public:
    Loan(Scratch& owner, cudaStream_t stream) : owner_(&owner), stream_(stream) {}
    Loan(Loan&& o) noexcept : owner_(std::exchange(o.owner_, nullptr)), stream_(o.stream_) {}
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (owner_) cudaEventRecord(owner_->last_use_, stream_);
    }
    void* data() const { return owner_->block_; }

   private:
    Scratch* owner_;
    cudaStream_t stream_;
  };

  Loan borrow(std::size_t bytes, cudaStream_t stream) {
    if (bytes > capacity_) {
      sure(cudaEventSynchronize(last_use_), "scratch");
      sure(cudaFree(block_), "scratch");
      block_ = nullptr;
      capacity_ = 0;
      sure(cudaMalloc(&block_, bytes), "scratch");
      capacity_ = bytes;
    }
    sure(cudaStreamWaitEvent(stream, last_use_, 0), "scratch");
    return Loan(*this, stream);
  }

 private:
  void* block_ = nullptr;
  std::size_t capacity_ = 0;
  cudaEvent_t last_use_ = nullptr;
};

__global__ void normalise(const float* spectra, float* out, int bins, int count) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= count) return;
  float norm = 1e-12f;
  for (int b = 0; b < bins; ++b) norm += spectra[static_cast<std::size_t>(s) * bins + b] * spectra[static_cast<std::size_t>(s) * bins + b];
  const float scale = rsqrtf(norm);
  for (int b = 0; b < bins; ++b)
    out[static_cast<std::size_t>(s) * bins + b] = scale * spectra[static_cast<std::size_t>(s) * bins + b];
}

class Matcher {
 public:
  Matcher(Scratch& scratch, cudaStream_t stream) : scratch_(scratch), stream_(stream) {
    sure(cublasCreate(&blas_), "matcher");
    sure(cublasSetStream(blas_, stream), "matcher");
  }
  ~Matcher() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // scores[library x count] = library^T * normalised spectra; all on the stream of the matcher.
  void match(const float* library, int entries, const float* spectra, int count, int bins, float* scores) {
    const float one = 1.f, zero = 0.f;
    const Scratch::Loan loan = prepare(spectra, count, bins);
    sure(cublasSgemm(blas_, CUBLAS_OP_T, CUBLAS_OP_N, entries, count, bins, &one, library, bins,
                     static_cast<const float*>(loan.data()), bins, &zero, scores, entries),
         "match");
  }

 private:
  Scratch::Loan prepare(const float* spectra, int count, int bins) {
    Scratch::Loan loan = scratch_.borrow(sizeof(float) * count * bins, stream_);
    normalise<<<(count + 127) / 128, 128, 0, stream_>>>(spectra, static_cast<float*>(loan.data()), bins, count);
    sure(cudaGetLastError(), "normalise");
    return loan;
  }

  Scratch& scratch_;
  cudaStream_t stream_;
  cublasHandle_t blas_ = nullptr;
};

// Sum of `n` intensities into *out (device), on `stream`.
void total_intensity(Scratch& scratch, const float* intensities, int n, float* out, cudaStream_t stream) {
  std::size_t bytes = 0;
  sure(cub::DeviceReduce::Sum(nullptr, bytes, intensities, out, n, stream), "size of sum");
  const Scratch::Loan loan = scratch.borrow(bytes, stream);
  sure(cub::DeviceReduce::Sum(loan.data(), bytes, intensities, out, n, stream), "sum");
}

}  // namespace lab
