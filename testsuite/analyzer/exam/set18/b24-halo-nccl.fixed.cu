// East/west halo exchange of a 2-D stencil over NCCL. The two edges are packed
// on their own streams so that the small kernels overlap with the interior.
#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace stencil {

[[noreturn]] inline void fail(const char* where, const char* why) {
  throw std::runtime_error(std::string(where) + ": " + why);
}
#define CUDA_TRY(x) do { auto rc_ = (x); if (rc_ != cudaSuccess) fail(#x, cudaGetErrorString(rc_)); } while (0)
#define NCCL_TRY(x) do { auto r_ = (x); if (r_ != ncclSuccess) fail(#x, ncclGetErrorString(r_)); } while (0)

enum Side { West = 0, East = 1 };

__global__ void packColumn(const double* u, int ny, int pitch, int col, double* edge) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < ny) edge[j] = u[j * pitch + col];
}

__global__ void unpackColumn(double* u, int ny, int pitch, int col, const double* edge) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < ny) u[j * pitch + col] = edge[j];
}

class Event {
 public:
  Event() { CUDA_TRY(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t s) { CUDA_TRY(cudaEventRecord(e_, s)); }
  void waitedBy(cudaStream_t s) const { CUDA_TRY(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class HaloExchange {
 public:
  // `left` and `right` are the ranks of the neighbours (periodic domain).
  HaloExchange(ncclComm_t comm, int left, int right, int ny, int pitch)
      : comm_(comm), peer_{left, right}, ny_(ny), pitch_(pitch) {
    for (int s : {West, East}) {
      CUDA_TRY(cudaStreamCreateWithFlags(&edge_[s], cudaStreamNonBlocking));
      CUDA_TRY(cudaMalloc(&send_[s], ny * sizeof(double)));
      CUDA_TRY(cudaMalloc(&recv_[s], ny * sizeof(double)));
    }
    CUDA_TRY(cudaStreamCreateWithFlags(&wire_, cudaStreamNonBlocking));
  }
  ~HaloExchange() {
    cudaDeviceSynchronize();
    for (int s : {West, East}) {
      cudaFree(send_[s]);
      cudaFree(recv_[s]);
      cudaStreamDestroy(edge_[s]);
    }
    cudaStreamDestroy(wire_);
  }
  HaloExchange(const HaloExchange&) = delete;
  HaloExchange& operator=(const HaloExchange&) = delete;

  // Queue the exchange for field `u`, last written on `compute`; `compute`
  // may use the ghost columns after this call.
  void exchange(double* u, cudaStream_t compute) {
    fieldReady_.record(compute);
    pack(West, u);
    pack(East, u);
    transfer();
    for (int s : {West, East}) unpack(static_cast<Side>(s), u, compute);
  }

 private:
  int blocks() const { return (ny_ + 127) / 128; }

  void pack(Side s, const double* u) {
    fieldReady_.waitedBy(edge_[s]);
    const int col = s == West ? 1 : pitch_ - 2;
    packColumn<<<blocks(), 128, 0, edge_[s]>>>(u, ny_, pitch_, col, send_[s]);
    CUDA_TRY(cudaGetLastError());
    packed_[s].record(edge_[s]);
  }

  void transfer() {
    for (const Event& e : packed_) e.waitedBy(wire_);
    NCCL_TRY(ncclGroupStart());
    NCCL_TRY(ncclSend(send_[West], ny_, ncclDouble, peer_[West], comm_, wire_));
    NCCL_TRY(ncclSend(send_[East], ny_, ncclDouble, peer_[East], comm_, wire_));
    NCCL_TRY(ncclRecv(recv_[East], ny_, ncclDouble, peer_[East], comm_, wire_));
    NCCL_TRY(ncclRecv(recv_[West], ny_, ncclDouble, peer_[West], comm_, wire_));
    NCCL_TRY(ncclGroupEnd());
    arrived_.record(wire_);
  }

  void unpack(Side s, double* u, cudaStream_t compute) {
    arrived_.waitedBy(edge_[s]);
    const int col = s == West ? 0 : pitch_ - 1;
    unpackColumn<<<blocks(), 128, 0, edge_[s]>>>(u, ny_, pitch_, col, recv_[s]);
    CUDA_TRY(cudaGetLastError());
    unpacked_[s].record(edge_[s]);
    unpacked_[s].waitedBy(compute);
  }

  ncclComm_t comm_;
  std::array<int, 2> peer_;
  int ny_;
  int pitch_;
  std::array<cudaStream_t, 2> edge_{};
  cudaStream_t wire_ = nullptr;
  std::array<double*, 2> send_{};
  std::array<double*, 2> recv_{};
  Event fieldReady_;
  std::array<Event, 2> packed_;
  Event arrived_;
  std::array<Event, 2> unpacked_;
};

}  // namespace stencil
