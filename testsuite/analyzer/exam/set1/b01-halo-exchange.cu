// Halo exchange for a 1-D decomposition of a 3-D stencil grid.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define HALO_CHECK(expr)                                                          \
  do {                                                                            \
    cudaError_t rc__ = (expr);                                                    \
    if (rc__ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc__)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

namespace halo {

__global__ void pack_planes(const double* __restrict__ grid, double* __restrict__ lo,
                            double* __restrict__ hi, int plane, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < plane) {
    lo[i] = grid[static_cast<size_t>(1) * plane + i];
    hi[i] = grid[static_cast<size_t>(nz - 2) * plane + i];
  }
}

__global__ void unpack_planes(double* __restrict__ grid, const double* __restrict__ lo,
                              const double* __restrict__ hi, int plane, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < plane) {
    grid[i] = lo[i];
    grid[static_cast<size_t>(nz - 1) * plane + i] = hi[i];
  }
}

class Exchanger {
 public:
  Exchanger(int plane, int nz) : plane_(plane), nz_(nz) {
    HALO_CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    HALO_CHECK(cudaStreamCreateWithFlags(&comm_, cudaStreamNonBlocking));
    HALO_CHECK(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    HALO_CHECK(cudaEventCreateWithFlags(&landed_, cudaEventDisableTiming));
    for (double** b : {&send_lo_, &send_hi_, &recv_lo_, &recv_hi_})
      HALO_CHECK(cudaMalloc(b, bytes()));
    HALO_CHECK(cudaMallocHost(&outbox_, 2 * bytes()));
    HALO_CHECK(cudaMallocHost(&inbox_, 2 * bytes()));
  }

  ~Exchanger() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(comm_);
    for (double* b : {send_lo_, send_hi_, recv_lo_, recv_hi_}) cudaFree(b);
    cudaFreeHost(outbox_);
    cudaFreeHost(inbox_);
    cudaEventDestroy(packed_);
    cudaEventDestroy(landed_);
    cudaStreamDestroy(comm_);
    cudaStreamDestroy(compute_);
  }

  // Starts the transfer of both boundary planes to the host.
  void post(const double* grid) {
    pack(grid);
    ship();
  }

  // Both planes, ready to be handed to the socket layer.
  const double* outbox() {
    HALO_CHECK(cudaEventSynchronize(landed_));
    return outbox_;
  }

  // `planes`: what the two neighbours sent (lo, then hi).
  void deliver(double* grid, const double* planes) {
    HALO_CHECK(cudaStreamSynchronize(compute_));
    std::memcpy(inbox_, planes, 2 * bytes());
    HALO_CHECK(cudaMemcpyAsync(recv_lo_, inbox_, bytes(), cudaMemcpyHostToDevice, compute_));
    HALO_CHECK(cudaMemcpyAsync(recv_hi_, inbox_ + plane_, bytes(), cudaMemcpyHostToDevice, compute_));
    unpack_planes<<<blocks(), 256, 0, compute_>>>(grid, recv_lo_, recv_hi_, plane_, nz_);
    HALO_CHECK(cudaGetLastError());
  }

 private:
  size_t bytes() const { return sizeof(double) * static_cast<size_t>(plane_); }
  int blocks() const { return (plane_ + 255) / 256; }

  void pack(const double* grid) {
    // The previous planes must have left the send buffers.
    HALO_CHECK(cudaStreamWaitEvent(compute_, landed_, 0));
    pack_planes<<<blocks(), 256, 0, compute_>>>(grid, send_lo_, send_hi_, plane_, nz_);
    HALO_CHECK(cudaGetLastError());
  }

  void ship() {
    HALO_CHECK(cudaMemcpyAsync(outbox_, send_lo_, bytes(), cudaMemcpyDeviceToHost, comm_));
    HALO_CHECK(cudaMemcpyAsync(outbox_ + plane_, send_hi_, bytes(), cudaMemcpyDeviceToHost, comm_));
    HALO_CHECK(cudaEventRecord(landed_, comm_));
  }

  int plane_;
  int nz_;
  cudaStream_t compute_{};
  cudaStream_t comm_{};
  cudaEvent_t packed_{};
  cudaEvent_t landed_{};
  double *send_lo_ = nullptr, *send_hi_ = nullptr, *recv_lo_ = nullptr, *recv_hi_ = nullptr;
  double *outbox_ = nullptr, *inbox_ = nullptr;
};

}  // namespace halo
