// Programme loudness measurement for long broadcasts.
//
// Sample blocks are weighted on the ingest stream into one of two buffers while
// the meter stream integrates the other one.  Gating blocks end at programme
// markers, so the buffer in use may be closed before it is full.

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace loudness {

struct CudaError : std::runtime_error {
  explicit CudaError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};
inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw CudaError(e);
}

__global__ void k_weight(const float* in, float* out, size_t n, float gain) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) {
    const float prev = i > 1 ? in[i - 2] : 0.0f;
    const float y = gain * (in[i] - 0.98f * prev);
    out[i] = y * y;
  }
}

__global__ void integrate(const float* power, size_t n, double* total) {
  double sum = 0.0;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<size_t>(gridDim.x) * blockDim.x)
    sum += power[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if ((threadIdx.x & 31) == 0) atomicAdd(total, sum);
}

class Meter {
 public:
  Meter(size_t capacity, float gain) : capacity_(capacity), gain_(gain) {
    ok(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&meter_, cudaStreamNonBlocking));
    for (Half& h : halves_) {
      ok(cudaMalloc(&h.power, capacity * sizeof(float)));
      ok(cudaEventCreateWithFlags(&h.filled, cudaEventDisableTiming));
      ok(cudaEventCreateWithFlags(&h.drained, cudaEventDisableTiming));
    }
    ok(cudaMalloc(&total_, sizeof(double)));
    ok(cudaMallocHost(&total_host_, sizeof(double)));
    ok(cudaMemsetAsync(total_, 0, sizeof(double), meter_));
  }

  ~Meter() {
    cudaStreamSynchronize(ingest_);
    cudaStreamSynchronize(meter_);
    for (Half& h : halves_) {
      cudaFree(h.power);
      cudaEventDestroy(h.filled);
      cudaEventDestroy(h.drained);
    }
    cudaFree(total_);
    cudaFreeHost(total_host_);
    cudaStreamDestroy(ingest_);
    cudaStreamDestroy(meter_);
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  cudaStream_t ingest_stream() const { return ingest_; }

  // samples: device memory that is valid in ingest-stream order.
  void push(const float* samples, size_t n) {
    if (n > capacity_) throw std::length_error("block larger than the meter's buffer");
    if (used_ + n > capacity_) {
      submit();
      flip();
    }
    Half& h = halves_[active_];
    k_weight<<<static_cast<unsigned>((n + 255) / 256), 256, 0, ingest_>>>(samples, h.power + used_, n, gain_);
    ok(cudaGetLastError());
    used_ += n;
  }

  // Closes the gating block at a programme marker.
  void mark() {
    submit();
    flip();
  }

  // Integrated power so far.
  double total() {
    ok(cudaMemcpyAsync(total_host_, total_, sizeof(double), cudaMemcpyDeviceToHost, meter_));
    ok(cudaStreamSynchronize(meter_));
    return *total_host_;
  }

 private:
  struct Half {
    float* power = nullptr;
    cudaEvent_t filled = nullptr;
    cudaEvent_t drained = nullptr;
  };

  void submit() {
    if (used_ == 0) return;
    Half& h = halves_[active_];
    ok(cudaEventRecord(h.filled, ingest_));
    ok(cudaStreamWaitEvent(meter_, h.filled, 0));
    integrate<<<64, 256, 0, meter_>>>(h.power, used_, total_);
    ok(cudaGetLastError());
    ok(cudaEventRecord(h.drained, meter_));
  }

  void flip() {
    active_ ^= 1;
    used_ = 0;
    ok(cudaStreamWaitEvent(ingest_, halves_[active_].drained, 0));
  }

  size_t capacity_;
  float gain_;
  cudaStream_t ingest_ = nullptr;
  cudaStream_t meter_ = nullptr;
  Half halves_[2];
  double* total_ = nullptr;
  double* total_host_ = nullptr;
  int active_ = 0;
  size_t used_ = 0;
};

// Measures a programme given as a list of blocks; a null block is a marker.
inline double measure(Meter& meter, const std::pair<const float*, size_t>* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (blocks[i].first == nullptr)
      meter.mark();
    else
      meter.push(blocks[i].first, blocks[i].second);
  }
  meter.mark();
  return meter.total();
}

}  // namespace loudness
