// Magnitude histograms of a sky survey.  Each rank reduces its own exposures on a few
// streams, packs the partial histograms into one bucket and sums the bucket over all ranks.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace survey {

#define CUDA_OR_THROW(x)                                                          \
  do {                                                                            \
    if (cudaError_t rc = (x); rc != cudaSuccess)                                  \
      throw std::runtime_error(cudaGetErrorString(rc));                           \
  } while (0)
#define NCCL_OR_THROW(x)                                                          \
  do {                                                                            \
    if (ncclResult_t rc = (x); rc != ncclSuccess)                                 \
      throw std::runtime_error(ncclGetErrorString(rc));                           \
  } while (0)

__global__ void histogram(const float* mag, int n, float* bins, int nbins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int b = static_cast<int>(mag[i] * 4.0f);
  atomicAdd(bins + min(max(b, 0), nbins - 1), 1.0f);
}

__global__ void accumulate(float* total, const float* bucket, std::size_t n) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) total[i] += bucket[i];
}

using EventPtr = std::unique_ptr<CUevent_st, cudaError_t (*)(cudaEvent_t)>;

EventPtr makeEvent() {
  cudaEvent_t e = nullptr;
  CUDA_OR_THROW(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return EventPtr(e, &cudaEventDestroy);
}

class Bucket {
 public:
  Bucket(ncclComm_t comm, int nbins, int slots) : comm_(comm), nbins_(nbins), capacity_(slots) {
    CUDA_OR_THROW(cudaStreamCreateWithFlags(&reduceStream_, cudaStreamNonBlocking));
    CUDA_OR_THROW(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
    CUDA_OR_THROW(cudaMalloc(reinterpret_cast<void**>(&total_), bytes()));
    CUDA_OR_THROW(cudaMemsetAsync(total_, 0, bytes(), reduceStream_));
  }
  ~Bucket() {
    cudaStreamSynchronize(reduceStream_);
    cudaFree(total_);
    cudaFree(data_);
    cudaStreamDestroy(reduceStream_);
  }
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  bool full() const { return used_ == capacity_; }

  // Appends one partial histogram; `stream` is the stream that computed it.
  void append(const float* bins, cudaStream_t stream) {
    CUDA_OR_THROW(cudaStreamWaitEvent(stream, drained_.get(), 0));
    CUDA_OR_THROW(cudaMemcpyAsync(data_ + static_cast<std::size_t>(used_) * nbins_, bins,
                                  nbins_ * sizeof(float), cudaMemcpyDeviceToDevice, stream));
    CUDA_OR_THROW(cudaEventRecord(filled_.get(), stream));
    CUDA_OR_THROW(cudaStreamWaitEvent(reduceStream_, filled_.get(), 0));
    ++used_;
  }

  // Sums the bucket over the ranks and adds it to the totals.
  void flush(cudaStream_t stream) {
    CUDA_OR_THROW(cudaEventRecord(filled_.get(), stream));
    CUDA_OR_THROW(cudaStreamWaitEvent(reduceStream_, filled_.get(), 0));
    const std::size_t count = static_cast<std::size_t>(used_) * nbins_;
    NCCL_OR_THROW(ncclAllReduce(data_, data_, count, ncclFloat, ncclSum, comm_, reduceStream_));
    accumulate<<<static_cast<unsigned>((count + 255) / 256), 256, 0, reduceStream_>>>(total_, data_, count);
    CUDA_OR_THROW(cudaGetLastError());
    CUDA_OR_THROW(cudaEventRecord(drained_.get(), reduceStream_));
    used_ = 0;
  }

  std::vector<float> totals() {
    std::vector<float> host(static_cast<std::size_t>(capacity_) * nbins_);
    CUDA_OR_THROW(cudaMemcpyAsync(host.data(), total_, bytes(), cudaMemcpyDeviceToHost, reduceStream_));
    CUDA_OR_THROW(cudaStreamSynchronize(reduceStream_));
    return host;
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(capacity_) * nbins_ * sizeof(float); }

  ncclComm_t comm_;
  int nbins_, capacity_, used_ = 0;
  cudaStream_t reduceStream_ = nullptr;
  float *data_ = nullptr, *total_ = nullptr;
  EventPtr filled_ = makeEvent(), drained_ = makeEvent();
};

class Exposure {
 public:
  explicit Exposure(int nbins) : nbins_(nbins) {
    CUDA_OR_THROW(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OR_THROW(cudaMalloc(reinterpret_cast<void**>(&bins_), nbins_ * sizeof(float)));
  }
  ~Exposure() {
    cudaStreamSynchronize(stream_);
    cudaFree(bins_);
    cudaStreamDestroy(stream_);
  }
  cudaStream_t stream() const { return stream_; }
  const float* reduce(const float* mag, int n) {
    CUDA_OR_THROW(cudaMemsetAsync(bins_, 0, nbins_ * sizeof(float), stream_));
    histogram<<<(n + 255) / 256, 256, 0, stream_>>>(mag, n, bins_, nbins_);
    CUDA_OR_THROW(cudaGetLastError());
    return bins_;
  }

 private:
  int nbins_;
  cudaStream_t stream_ = nullptr;
  float* bins_ = nullptr;
};

// `catalogue` holds device arrays of n magnitudes each that are complete on the device.
std::vector<float> reduceCatalogue(ncclComm_t comm, const std::vector<const float*>& catalogue, int n) {
  constexpr int kBins = 128;
  Bucket bucket(comm, kBins, 8);
  std::vector<std::unique_ptr<Exposure>> lanes;
  for (int i = 0; i < 4; ++i) lanes.push_back(std::make_unique<Exposure>(kBins));
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    Exposure& lane = *lanes[i % lanes.size()];
    bucket.append(lane.reduce(catalogue[i], n), lane.stream());
    if (bucket.full() || i + 1 == catalogue.size()) bucket.flush(lane.stream());
  }
  return bucket.totals();
}

}  // namespace survey
