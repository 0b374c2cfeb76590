// Data-parallel training of the click model: gradients of a layer are packed into a bucket, reduced over all ranks on the
// communication stream and unpacked into the optimizer's gradient memory.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace clicks {

inline void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void check(ncclResult_t rc) {
  if (rc != ncclSuccess) throw std::runtime_error(ncclGetErrorString(rc));
}

__global__ void pack(const float* grads, float* bucket, std::size_t n, float scale) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) bucket[i] = grads[i] * scale;
}

__global__ void unpack(const float* bucket, float* reduced, std::size_t n) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < n) reduced[i] += bucket[i];
}

struct Layer {
  const float* grads = nullptr;  // written on the compute stream
  float* reduced = nullptr;
  std::size_t count = 0;
};

class Bucket {
 public:
  Bucket(std::size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    check(cudaMallocAsync(reinterpret_cast<void**>(&data_), count * sizeof(float), stream));
  }
  ~Bucket() {
    if (data_) cudaFreeAsync(data_, stream_);
  }
  Bucket(Bucket&& other) noexcept : count_(other.count_), stream_(other.stream_), data_(std::exchange(other.data_, nullptr)) {}
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  float* data() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  std::size_t count_;
  cudaStream_t stream_;
  float* data_ = nullptr;
};

class GradientSync {
 public:
  GradientSync(ncclComm_t comm, int world, cudaStream_t compute) : comm_(comm), world_(world), compute_(compute) {
    check(cudaStreamCreateWithFlags(&comm_stream_, cudaStreamNonBlocking));
    check(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    check(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
  }
  ~GradientSync() {
    cudaStreamSynchronize(comm_stream_);
    in_flight_.clear();
    cudaEventDestroy(reduced_);
    cudaEventDestroy(packed_);
    cudaStreamDestroy(comm_stream_);
  }
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // Called from the backward pass as soon as the gradients of a layer are queued.
  void layer_done(const Layer& layer) {
    in_flight_.push_back(pack_layer(layer));
    reduce(in_flight_.back(), layer);
  }

  // The optimizer may read reduced gradients on the compute stream afterwards.
  void join() {
    check(cudaEventRecord(reduced_, comm_stream_));
    check(cudaStreamWaitEvent(compute_, reduced_, 0));
    in_flight_.clear();
  }

 private:
  static unsigned blocks(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }

  Bucket pack_layer(const Layer& layer) {
    Bucket bucket(layer.count, compute_);
    pack<<<blocks(layer.count), 256, 0, compute_>>>(layer.grads, bucket.data(), layer.count, 1.f / world_);
    check(cudaGetLastError());
    check(cudaEventRecord(packed_, compute_));
    return bucket;
  }

  void reduce(const Bucket& bucket, const Layer& layer) {
    check(cudaStreamWaitEvent(comm_stream_, packed_, 0));
    check(ncclAllReduce(bucket.data(), bucket.data(), bucket.count(), ncclFloat, ncclSum, comm_, comm_stream_));
    unpack<<<blocks(layer.count), 256, 0, comm_stream_>>>(bucket.data(), layer.reduced, layer.count);
    check(cudaGetLastError());
  }

  ncclComm_t comm_;
  int world_;
  cudaStream_t compute_;
  cudaStream_t comm_stream_ = nullptr;
  cudaEvent_t packed_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
  std::vector<Bucket> in_flight_;
};

void backward_sync(GradientSync& sync, const std::vector<Layer>& layers) {
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) sync.layer_done(*layer);
  sync.join();
}

}  // namespace clicks
