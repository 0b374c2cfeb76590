// Slab-decomposed acoustic wave propagation. Each rank owns a slab of z planes and swaps one
// plane with each neighbour per step over NCCL, on a stream of its own.
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace seismic {

inline void ok(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void ok(ncclResult_t rc) {
  if (rc != ncclSuccess) throw std::runtime_error(std::string("nccl: ") + ncclGetErrorString(rc));
}

struct Slab {
  int nx, ny, nz;  // nz without the two ghost planes
  __host__ __device__ std::size_t plane() const { return static_cast<std::size_t>(nx) * ny; }
  std::size_t cells() const { return plane() * (nz + 2); }
};

__global__ void pack_planes(const float* __restrict__ u, float* __restrict__ lower,
                            float* __restrict__ upper, Slab s, float scale) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= s.plane()) return;
  lower[i] = u[s.plane() + i] * scale;
  upper[i] = u[s.plane() * s.nz + i] * scale;
}

__global__ void unpack_planes(float* __restrict__ u, const float* __restrict__ lower,
                              const float* __restrict__ upper, Slab s, float scale) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= s.plane()) return;
  u[i] = lower[i] / scale;
  u[s.plane() * (s.nz + 1) + i] = upper[i] / scale;
}

// Planes [first, last) of the interior.
__global__ void propagate(const float* __restrict__ u, float* __restrict__ next,
                          const float* __restrict__ velocity, Slab s, int first, int last) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  const int z = first + blockIdx.z;
  if (x == 0 || x >= s.nx - 1 || y == 0 || y >= s.ny - 1 || z >= last) return;
  const std::size_t p = s.plane();
  const std::size_t i = z * p + static_cast<std::size_t>(y) * s.nx + x;
  const float lap = u[i - 1] + u[i + 1] + u[i - s.nx] + u[i + s.nx] + u[i - p] + u[i + p] - 6.f * u[i];
  next[i] = 2.f * u[i] - next[i] + velocity[i] * lap;
}

class Propagator {
 public:
  Propagator(Slab slab, const float* velocity, ncclComm_t comm, int rank, int ranks)
      : slab_(slab), velocity_(velocity), comm_(comm), rank_(rank), ranks_(ranks) {
    ok(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&exchange_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    ok(cudaEventCreateWithFlags(&exchanged_, cudaEventDisableTiming));
    for (float** f : {&u_, &next_}) {
      ok(cudaMalloc(f, slab.cells() * sizeof(float)));
      ok(cudaMemsetAsync(*f, 0, slab.cells() * sizeof(float), compute_));
    }
    for (auto& face : faces_) {
      ok(cudaMalloc(&face, slab.plane() * sizeof(float)));
      ok(cudaMemsetAsync(face, 0, slab.plane() * sizeof(float), compute_));
    }
    ok(cudaStreamSynchronize(compute_));
  }
  ~Propagator() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(exchange_);
    for (float* face : faces_) cudaFree(face);
    cudaFree(next_);
    cudaFree(u_);
    cudaEventDestroy(exchanged_);
    cudaEventDestroy(packed_);
    cudaStreamDestroy(exchange_);
    cudaStreamDestroy(compute_);
  }
  Propagator(const Propagator&) = delete;
  Propagator& operator=(const Propagator&) = delete;

  void step() {
    start_exchange();
    run(2, slab_.nz);
    finish_exchange();
    run(1, 2);
    run(slab_.nz, slab_.nz + 1);
    float* t = u_;
    u_ = next_;
    next_ = t;
  }

  void finish() const { ok(cudaStreamSynchronize(compute_)); }
  const float* wavefield() const { return u_; }

 private:
  enum Face { kSendDown, kSendUp, kFromDown, kFromUp, kFaces };

  int face_blocks() const { return static_cast<int>((slab_.plane() + 255) / 256); }

  void start_exchange() {
    pack_planes<<<face_blocks(), 256, 0, compute_>>>(u_, faces_[kSendDown], faces_[kSendUp], slab_,
                                                     1024.f);
    ok(cudaGetLastError());
    ok(cudaEventRecord(packed_, compute_));
    swap_with(rank_ - 1, faces_[kSendDown], faces_[kFromDown]);
    swap_with(rank_ + 1, faces_[kSendUp], faces_[kFromUp]);
    ok(cudaEventRecord(exchanged_, exchange_));
  }

  void swap_with(int peer, const float* send, float* recv) {
    if (peer < 0 || peer >= ranks_) return;
    ok(ncclGroupStart());
    ok(ncclSend(send, slab_.plane(), ncclFloat, peer, comm_, exchange_));
    ok(ncclRecv(recv, slab_.plane(), ncclFloat, peer, comm_, exchange_));
    ok(ncclGroupEnd());
  }

  void finish_exchange() {
    ok(cudaStreamWaitEvent(compute_, exchanged_, 0));
    unpack_planes<<<face_blocks(), 256, 0, compute_>>>(u_, faces_[kFromDown], faces_[kFromUp], slab_,
                                                       1024.f);
    ok(cudaGetLastError());
  }

  void run(int first, int last) {
    if (last <= first) return;
    const dim3 grid((slab_.nx + 127) / 128, slab_.ny, last - first);
    propagate<<<grid, 128, 0, compute_>>>(u_, next_, velocity_, slab_, first, last);
    ok(cudaGetLastError());
  }

  Slab slab_;
  const float* velocity_;
  ncclComm_t comm_;
  int rank_, ranks_;
  cudaStream_t compute_ = nullptr, exchange_ = nullptr;
  cudaEvent_t packed_ = nullptr, exchanged_ = nullptr;
  float* u_ = nullptr;
  float* next_ = nullptr;
  float* faces_[kFaces] = {};
};

}  // namespace seismic
