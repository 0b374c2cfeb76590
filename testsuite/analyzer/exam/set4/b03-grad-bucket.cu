#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace dp {

struct Param {
  float* grad;
  std::size_t count;
};

__global__ void unpack_mean(float* dst, const float* src, float inv_world, std::size_t n) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) dst[i] = src[i] * inv_world;
}

__global__ void toy_backward(float* grad, std::size_t n, float v) {
  std::size_t i = blockIdx.x * std::size_t(blockDim.x) + threadIdx.x;
  if (i < n) grad[i] = v * float(i & 7);
}

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void ok(ncclResult_t r) {
  if (r != ncclSuccess) throw std::runtime_error(ncclGetErrorString(r));
}
inline unsigned blocks(std::size_t n) { return unsigned((n + 255) / 256); }

// Two contiguous buckets: one is being packed while the other is on the wire.
class BucketReducer {
 public:
  BucketReducer(ncclComm_t comm, int world, std::size_t capacity, cudaStream_t compute)
      : comm_(comm), inv_world_(1.f / float(world)), capacity_(capacity), compute_(compute) {
    ok(cudaStreamCreateWithFlags(&wire_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    for (int i = 0; i < 2; ++i) {
      ok(cudaMalloc(&bucket_[i], capacity_ * sizeof(float)));
      ok(cudaEventCreateWithFlags(&drained_[i], cudaEventDisableTiming));
    }
  }
  ~BucketReducer() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(wire_);
    for (int i = 0; i < 2; ++i) {
      cudaFree(bucket_[i]);
      cudaEventDestroy(drained_[i]);
    }
    cudaEventDestroy(packed_);
    cudaStreamDestroy(wire_);
  }
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  void grad_ready(const Param& p) {
    if (used_ + p.count > capacity_) flush();
    if (used_ == 0) ok(cudaStreamWaitEvent(compute_, drained_[seq_ % 2], 0));
    ok(cudaMemcpyAsync(bucket_[active_] + used_, p.grad, p.count * sizeof(float), cudaMemcpyDeviceToDevice, compute_));
    entries_.push_back({p, used_});
    used_ += p.count;
  }

  void finish() {
    if (used_) flush();
    for (cudaEvent_t e : drained_) ok(cudaStreamWaitEvent(compute_, e, 0));
  }

 private:
  struct Entry {
    Param p;
    std::size_t offset;
  };

  void flush() {
    ok(cudaEventRecord(packed_, compute_));
    ok(cudaStreamWaitEvent(wire_, packed_, 0));
    float* data = bucket_[active_];
    ok(ncclAllReduce(data, data, used_, ncclFloat, ncclSum, comm_, wire_));
    for (const Entry& e : entries_)
      unpack_mean<<<blocks(e.p.count), 256, 0, wire_>>>(e.p.grad, data + e.offset, inv_world_, e.p.count);
    ok(cudaGetLastError());
    ok(cudaEventRecord(drained_[seq_ % 2], wire_));
    ++seq_;
    active_ ^= 1;
    clear();
  }

  void clear() {
    entries_.clear();
    used_ = 0;
    active_ = 0;
  }

  ncclComm_t comm_;
  float inv_world_;
  std::size_t capacity_;
  cudaStream_t compute_;
  cudaStream_t wire_{};
  cudaEvent_t packed_{};
  std::array<float*, 2> bucket_{};
  std::array<cudaEvent_t, 2> drained_{};
  std::vector<Entry> entries_;
  std::size_t used_ = 0;
  std::uint64_t seq_ = 0;
  int active_ = 0;
};

class Trainer {
 public:
  Trainer(ncclComm_t comm, int world, const std::vector<std::size_t>& shapes) {
    ok(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    for (std::size_t n : shapes) {
      Param p{nullptr, n};
      ok(cudaMalloc(&p.grad, n * sizeof(float)));
      params_.push_back(p);
    }
    reducer_ = new BucketReducer(comm, world, 8u << 20, compute_);
  }
  ~Trainer() {
    delete reducer_;
    for (Param& p : params_) cudaFree(p.grad);
    cudaStreamDestroy(compute_);
  }

  void backward(float loss) {
    for (auto it = params_.rbegin(); it != params_.rend(); ++it) {
      toy_backward<<<blocks(it->count), 256, 0, compute_>>>(it->grad, it->count, loss);
      reducer_->grad_ready(*it);
    }
    reducer_->finish();
  }
  void synchronize() { ok(cudaStreamSynchronize(compute_)); }

 private:
  cudaStream_t compute_{};
  std::vector<Param> params_;
  BucketReducer* reducer_ = nullptr;
};

}  // namespace dp

int main() {
  ncclUniqueId id;
  ncclComm_t comm;
  dp::ok(ncclGetUniqueId(&id));
  dp::ok(ncclCommInitRank(&comm, 1, id, 0));
  {
    dp::Trainer t(comm, 1, {5u << 20, 3u << 20, 6u << 20, 2u << 20, 7u << 20, 1u << 20});
    for (int step = 0; step < 10; ++step) t.backward(0.1f * step);
    t.synchronize();
  }
  ncclCommDestroy(comm);
}
