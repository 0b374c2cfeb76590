#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define CU(x) do { cudaError_t rc_ = (x); if (rc_) { std::fprintf(stderr, "%s\n", cudaGetErrorString(rc_)); std::exit(2); } } while (0)
#define NC(x) do { ncclResult_t r = (x); if (r) { std::fprintf(stderr, "%s\n", ncclGetErrorString(r)); std::exit(3); } } while (0)

namespace ocean {

enum Side { West, East, South, North, kSides };

struct Tile {
  int nx, ny, nz;
  std::array<int, kSides> neighbour;
  double* tracer;  // (nx+2) * (ny+2) * nz
};

__device__ __forceinline__ size_t cell(int i, int j, int k, int nx, int ny) {
  return (size_t(k) * (ny + 2) + j) * (nx + 2) + i;
}

__global__ void advect(double* c, int nx, int ny, int nz, double cfl) {
  int i = 2 + blockIdx.x * blockDim.x + threadIdx.x, j = 1 + blockIdx.y, k = blockIdx.z;
  if (i > nx || j > ny || k >= nz) return;
  double up = c[cell(i, j, k, nx, ny)];
  c[cell(i, j, k, nx, ny)] = up * (1.0 - cfl);
}

__global__ void gather_edge(const double* c, double* out, int nx, int ny, int nz, int side) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
  int len = side < South ? ny : nx;
  if (t >= len) return;
  int i = side == West ? 1 : side == East ? nx : t + 1;
  int j = side == South ? 1 : side == North ? ny : t + 1;
  out[size_t(k) * len + t] = c[cell(i, j, k, nx, ny)];
}

__global__ void scatter_edge(double* c, const double* in, int nx, int ny, int nz, int side) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
  int len = side < South ? ny : nx;
  if (t >= len) return;
  int i = side == West ? 0 : side == East ? nx + 1 : t + 1;
  int j = side == South ? 0 : side == North ? ny + 1 : t + 1;
  c[cell(i, j, k, nx, ny)] = in[size_t(k) * len + t];
}

class HaloExchange {
 public:
  HaloExchange(const Tile& t, ncclComm_t comm) : tile_(t), comm_(comm) {
    CU(cudaStreamCreateWithFlags(&wire_, cudaStreamNonBlocking));
    for (int s = 0; s < kSides; ++s) {
      CU(cudaStreamCreateWithFlags(&side_[s], cudaStreamNonBlocking));
      CU(cudaMalloc(&send_[s], bytes(s)));
      CU(cudaMalloc(&recv_[s], bytes(s)));
    }
    for (cudaEvent_t* e : {&field_ready_, &packed_, &arrived_}) CU(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
  }

  void pack(cudaStream_t main) {
    CU(cudaEventRecord(field_ready_, main));
    for (int s = 0; s < kSides; ++s) {
      CU(cudaStreamWaitEvent(side_[s], field_ready_, 0));
      dim3 grid((length(s) + 127) / 128, tile_.nz);
      gather_edge<<<grid, 128, 0, side_[s]>>>(tile_.tracer, send_[s], tile_.nx, tile_.ny, tile_.nz, s);
      CU(cudaEventRecord(packed_, side_[s]));
    }
    CU(cudaStreamWaitEvent(wire_, packed_, 0));
  }

  void exchange() {
    NC(ncclGroupStart());
    for (int s = 0; s < kSides; ++s) {
      NC(ncclSend(send_[s], count(s), ncclDouble, tile_.neighbour[s], comm_, wire_));
      NC(ncclRecv(recv_[s], count(s), ncclDouble, tile_.neighbour[s], comm_, wire_));
    }
    NC(ncclGroupEnd());
    CU(cudaEventRecord(arrived_, wire_));
  }

  void unpack(cudaStream_t main) {
    CU(cudaStreamWaitEvent(main, arrived_, 0));
    for (int s = 0; s < kSides; ++s) {
      dim3 grid((length(s) + 127) / 128, tile_.nz);
      scatter_edge<<<grid, 128, 0, main>>>(tile_.tracer, recv_[s], tile_.nx, tile_.ny, tile_.nz, s);
    }
  }

  void close() {
    CU(cudaDeviceSynchronize());
    for (int s = 0; s < kSides; ++s) {
      cudaFree(send_[s]);
      cudaFree(recv_[s]);
      cudaStreamDestroy(side_[s]);
    }
    cudaStreamDestroy(wire_);
    for (cudaEvent_t e : {field_ready_, packed_, arrived_}) cudaEventDestroy(e);
  }

 private:
  int length(int s) const { return s < South ? tile_.ny : tile_.nx; }
  size_t count(int s) const { return size_t(length(s)) * tile_.nz; }
  size_t bytes(int s) const { return count(s) * sizeof(double); }

  Tile tile_;
  ncclComm_t comm_;
  cudaStream_t wire_{};
  std::array<cudaStream_t, kSides> side_{};
  std::array<double*, kSides> send_{}, recv_{};
  cudaEvent_t field_ready_{}, packed_{}, arrived_{};
};

void integrate(Tile& tile, ncclComm_t comm, cudaStream_t main, int steps) {
  HaloExchange halo(tile, comm);
  dim3 grid((tile.nx + 127) / 128, tile.ny, tile.nz);
  for (int n = 0; n < steps; ++n) {
    halo.pack(main);
    halo.exchange();
    halo.unpack(main);
    advect<<<grid, 128, 0, main>>>(tile.tracer, tile.nx, tile.ny, tile.nz, 0.1);
  }
  CU(cudaStreamSynchronize(main));
  halo.close();
}

}  // namespace ocean
