// One producer, several analysis streams that read the same frame, and a
// producer that may overwrite it only when all the readers are through.
#include <cuda_runtime.h>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace inspect {

struct CudaFault : std::runtime_error {
  CudaFault(cudaError_t e, const char* f) : std::runtime_error(std::string(f) + ": " + cudaGetErrorString(e)) {}
};
template <typename... P, typename... A>
void call(const char* name, cudaError_t (*fn)(P...), A... args) {
  if (cudaError_t e = fn(args...)) throw CudaFault(e, name);
}

__global__ void expose(uint16_t* frame, int n, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) frame[i] = static_cast<uint16_t>((i * 2654435761u + seed) >> 20);
}
__global__ void brightness(const uint16_t* frame, int n, unsigned long long* sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, static_cast<unsigned long long>(frame[i]));
}
__global__ void saturated(const uint16_t* frame, int n, unsigned long long* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && frame[i] >= 4000) atomicAdd(count, 1ull);
}
__global__ void dark(const uint16_t* frame, int n, unsigned long long* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && frame[i] < 16) atomicAdd(count, 1ull);
}

using Metric = void (*)(const uint16_t*, int, unsigned long long*);

class Station {
 public:
  Station(int pixels, std::vector<Metric> metrics) : n_(pixels), metrics_(std::move(metrics)) {
    call("stream", cudaStreamCreateWithFlags, &camera_, cudaStreamNonBlocking);
    call("event", cudaEventCreateWithFlags, &exposed_, cudaEventDisableTiming);
    if (cudaMalloc(&frame_, n_ * sizeof(uint16_t)) != cudaSuccess) throw std::bad_alloc();
    if (cudaMalloc(&results_, metrics_.size() * sizeof(unsigned long long)) != cudaSuccess) throw std::bad_alloc();
    call("clear", cudaMemsetAsync, static_cast<void*>(results_), 0, metrics_.size() * sizeof(unsigned long long), camera_);
    readers_.resize(metrics_.size());
    for (Reader& r : readers_) {
      call("stream", cudaStreamCreateWithFlags, &r.stream, cudaStreamNonBlocking);
      call("event", cudaEventCreateWithFlags, &r.done, cudaEventDisableTiming);
    }
  }
  ~Station() {
    cudaStreamSynchronize(camera_);
    for (Reader& r : readers_) {
      cudaStreamSynchronize(r.stream);
      cudaEventDestroy(r.done);
      cudaStreamDestroy(r.stream);
    }
    cudaFree(results_);
    cudaFree(frame_);
    cudaEventDestroy(exposed_);
    cudaStreamDestroy(camera_);
  }

  void shoot(unsigned seed) {
    for (Reader& r : readers_) call("wait reader", cudaStreamWaitEvent, camera_, r.done, 0u);
    const int grid = (n_ + 255) / 256;
    expose<<<grid, 256, 0, camera_>>>(frame_, n_, seed);
    call("record", &record, exposed_, camera_);
    for (size_t m = 0; m < metrics_.size(); ++m) {
      Reader& r = readers_[m];
      call("wait frame", cudaStreamWaitEvent, r.stream, exposed_, 0u);
      metrics_[m]<<<grid, 256, 0, r.stream>>>(frame_, n_, results_ + m);
      call("record", &record, r.done, r.stream);
    }
  }

  std::vector<unsigned long long> results() {
    std::vector<unsigned long long> host(metrics_.size());
    for (Reader& r : readers_) call("wait reader", cudaStreamWaitEvent, camera_, r.done, 0u);
    call("read", cudaMemcpyAsync, static_cast<void*>(host.data()), static_cast<const void*>(results_),
         host.size() * sizeof(unsigned long long), cudaMemcpyDeviceToHost, camera_);
    call("sync", cudaStreamSynchronize, camera_);
    return host;
  }

 private:
  static cudaError_t record(cudaEvent_t e, cudaStream_t s) { return cudaEventRecord(e, s); }
  struct Reader {
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
  };
  int n_;
  std::vector<Metric> metrics_;
  cudaStream_t camera_ = nullptr;
  cudaEvent_t exposed_ = nullptr;
  uint16_t* frame_ = nullptr;
  unsigned long long* results_ = nullptr;
  std::vector<Reader> readers_;
};

}  // namespace inspect
