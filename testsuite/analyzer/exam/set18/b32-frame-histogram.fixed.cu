// Exposure metering for a camera pipeline: frames are normalised on the ingest
// stream and metered on a second one. Scratch memory is stream ordered.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace camera {

#define CUDA_OR_DIE(x)                                                      \
  do {                                                                      \
    const cudaError_t st = (x);                                             \
    if (st != cudaSuccess) {                                                \
      std::fprintf(stderr, "[camera] %s: %s\n", #x, cudaGetErrorString(st)); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (false)

constexpr int kBins = 256;

__global__ void normalise(const std::uint16_t* raw, float black, float gain, float* lin, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) lin[i] = fminf(fmaxf((raw[i] - black) * gain, 0.f), 1.f);
}

__global__ void toPreview(const float* lin, std::uint8_t* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = std::uint8_t(255.f * lin[i]);
}

__global__ void histogram(const float* lin, int n, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[int(lin[i] * (kBins - 1))], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

// Memory that is allocated and freed in the order of one stream.
template <class T>
class StreamBuffer {
 public:
  StreamBuffer(std::size_t n, cudaStream_t s) : stream_(s) {
    CUDA_OR_DIE(cudaMallocAsync(reinterpret_cast<void**>(&ptr_), n * sizeof(T), stream_));
  }
  ~StreamBuffer() { CUDA_OR_DIE(cudaFreeAsync(ptr_, stream_)); }
  StreamBuffer(const StreamBuffer&) = delete;
  StreamBuffer& operator=(const StreamBuffer&) = delete;
  T* get() const { return ptr_; }

 private:
  cudaStream_t stream_;
  T* ptr_ = nullptr;
};

// Device-side edge: `after` continues once the present work of `before` is done.
class Link {
 public:
  Link() { CUDA_OR_DIE(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Link() { cudaEventDestroy(e_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void connect(cudaStream_t before, cudaStream_t after) {
    CUDA_OR_DIE(cudaEventRecord(e_, before));
    CUDA_OR_DIE(cudaStreamWaitEvent(after, e_, 0));
  }

 private:
  cudaEvent_t e_ = nullptr;
};

class FramePipeline {
 public:
  explicit FramePipeline(int pixels) : n_(pixels) {
    CUDA_OR_DIE(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking));
    CUDA_OR_DIE(cudaStreamCreateWithFlags(&meter_, cudaStreamNonBlocking));
    CUDA_OR_DIE(cudaMalloc(&raw_, n_ * sizeof(std::uint16_t)));
    CUDA_OR_DIE(cudaMalloc(&bins_, kBins * sizeof(unsigned)));
    CUDA_OR_DIE(cudaMemsetAsync(bins_, 0, kBins * sizeof(unsigned), meter_));
  }
  ~FramePipeline() {
    cudaStreamSynchronize(ingest_);
    cudaStreamSynchronize(meter_);
    cudaFree(raw_);
    cudaFree(bins_);
    cudaStreamDestroy(ingest_);
    cudaStreamDestroy(meter_);
  }
  FramePipeline(const FramePipeline&) = delete;
  FramePipeline& operator=(const FramePipeline&) = delete;

  // `pinned` holds the sensor data and `preview` is device memory; both belong
  // to the pipeline until flush().
  void frame(const std::uint16_t* pinned, std::uint8_t* preview) {
    StreamBuffer<float> linear(n_, ingest_);
    CUDA_OR_DIE(cudaMemcpyAsync(raw_, pinned, n_ * sizeof(*raw_), cudaMemcpyHostToDevice, ingest_));
    normalise<<<blocks(), 256, 0, ingest_>>>(raw_, 64.f, 1.f / 4031.f, linear.get(), n_);
    meterFrame(linear.get());
    toPreview<<<blocks(), 256, 0, ingest_>>>(linear.get(), preview, n_);
    CUDA_OR_DIE(cudaGetLastError());
    link_.connect(meter_, ingest_);
  }

  // Waits for all frames and copies the accumulated histogram.
  void flush(unsigned (&out)[kBins]) {
    CUDA_OR_DIE(cudaStreamSynchronize(ingest_));
    CUDA_OR_DIE(cudaMemcpyAsync(out, bins_, sizeof(out), cudaMemcpyDeviceToHost, meter_));
    CUDA_OR_DIE(cudaStreamSynchronize(meter_));
  }

 private:
  int blocks() const { return (n_ + 255) / 256; }

  void meterFrame(const float* linear) {
    link_.connect(ingest_, meter_);
    histogram<<<64, 256, 0, meter_>>>(linear, n_, bins_);
    CUDA_OR_DIE(cudaGetLastError());
  }

  int n_;
  cudaStream_t ingest_ = nullptr, meter_ = nullptr;
  std::uint16_t* raw_ = nullptr;
  unsigned* bins_ = nullptr;
  Link link_;
};

}  // namespace camera
