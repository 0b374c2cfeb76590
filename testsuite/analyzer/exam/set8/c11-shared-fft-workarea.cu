// Pulse compression for the ground radar. Several channels run in streams of their own; the FFT work area is large, so
// all plans share one and take turns on the device without blocking the host.
#include <cuda_runtime.h>
#include <cufft.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace radar {

inline void cu(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void fft(cufftResult rc) {
  if (rc != CUFFT_SUCCESS) throw std::runtime_error("cufft");
}

// Device memory that is lent to one stream after the other.
class WorkArea {
 public:
  explicit WorkArea(size_t bytes) {
    cu(cudaMalloc(&data_, bytes));
    cu(cudaEventCreateWithFlags(&released_, cudaEventDisableTiming));
  }
  ~WorkArea() {
    cudaEventSynchronize(released_);
    cudaEventDestroy(released_);
    cudaFree(data_);
  }
  WorkArea(const WorkArea&) = delete;
  WorkArea& operator=(const WorkArea&) = delete;

  void* data() const { return data_; }

  class Loan {
   public:
    Loan(WorkArea& area, cudaStream_t stream) : area_(area), lock_(area.mutex_), stream_(stream) {
      cu(cudaStreamWaitEvent(stream_, area_.released_, 0));
    }
    ~Loan() { cudaEventRecord(area_.released_, stream_); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

   private:
    WorkArea& area_;
    std::unique_lock<std::mutex> lock_;
    cudaStream_t stream_;
  };

 private:
  std::mutex mutex_;
  void* data_ = nullptr;
  cudaEvent_t released_ = nullptr;
};

__global__ void multiply_conj(cufftComplex* data, const cufftComplex* chirp, int n, int batch, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * batch) return;
  cufftComplex a = data[i], b = chirp[i % n];
  data[i] = make_float2((a.x * b.x + a.y * b.y) * scale, (a.y * b.x - a.x * b.y) * scale);
}

class Channel {
 public:
  // `chirp` is the spectrum of the transmitted pulse; complete device memory that outlives the channel.
  Channel(int n, int batch, const cufftComplex* chirp) : n_(n), batch_(batch), chirp_(chirp) {
    cu(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cu(cudaEventCreateWithFlags(&compressed_, cudaEventDisableTiming));
    cu(cudaMalloc(&echo_, bytes()));
    fft(cufftCreate(&plan_));
    fft(cufftSetAutoAllocation(plan_, 0));
    fft(cufftMakePlan1d(plan_, n, CUFFT_C2C, batch, &work_bytes_));
    fft(cufftSetStream(plan_, stream_));
  }

  ~Channel() {
    cudaStreamSynchronize(stream_);
    cufftDestroy(plan_);
    cudaFree(echo_);
    cudaEventDestroy(compressed_);
    cudaStreamDestroy(stream_);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  size_t work_bytes() const { return work_bytes_; }

  void attach(WorkArea& area) {
    area_ = &area;
    fft(cufftSetWorkArea(plan_, area.data()));
  }

  // Compresses one burst. `burst` and `profile` are page-locked; `profile` is complete after finish().
  void compress(const cufftComplex* burst, cufftComplex* profile) {
    cu(cudaMemcpyAsync(echo_, burst, bytes(), cudaMemcpyHostToDevice, stream_));
    transform();
    cu(cudaMemcpyAsync(profile, echo_, bytes(), cudaMemcpyDeviceToHost, stream_));
    cu(cudaEventRecord(compressed_, stream_));
  }

  void finish() { cu(cudaEventSynchronize(compressed_)); }

 private:
  size_t bytes() const { return sizeof(cufftComplex) * n_ * batch_; }

  void transform() {
    WorkArea::Loan loan(*area_, stream_);
    fft(cufftExecC2C(plan_, echo_, echo_, CUFFT_FORWARD));
    multiply_conj<<<(n_ * batch_ + 255) / 256, 256, 0, stream_>>>(echo_, chirp_, n_, batch_, 1.0f / n_);
    cu(cudaGetLastError());
    fft(cufftExecC2C(plan_, echo_, echo_, CUFFT_INVERSE));
  }

  int n_;
  int batch_;
  const cufftComplex* chirp_;
  WorkArea* area_ = nullptr;
  cufftHandle plan_ = 0;
  size_t work_bytes_ = 0;
  cufftComplex* echo_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t compressed_ = nullptr;
};

// All channels of an antenna.
class Receiver {
 public:
  Receiver(const std::vector<int>& lengths, int batch, const std::vector<const cufftComplex*>& chirps) {
    size_t need = 1;
    for (size_t i = 0; i < lengths.size(); ++i) {
      channels_.push_back(std::make_unique<Channel>(lengths[i], batch, chirps[i]));
      need = std::max(need, channels_.back()->work_bytes());
    }
    area_ = std::make_unique<WorkArea>(need);
    for (auto& c : channels_) c->attach(*area_);
  }
  ~Receiver() { channels_.clear(); }

  void burst(const std::vector<const cufftComplex*>& in, const std::vector<cufftComplex*>& out) {
    for (size_t i = 0; i < channels_.size(); ++i) channels_[i]->compress(in[i], out[i]);
    for (auto& c : channels_) c->finish();
  }

 private:
  std::vector<std::unique_ptr<Channel>> channels_;
  std::unique_ptr<WorkArea> area_;
};

}  // namespace radar
