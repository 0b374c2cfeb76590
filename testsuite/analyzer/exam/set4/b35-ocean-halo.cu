// Halo exchange of the barotropic solver. The four sides are packed on their own
// streams and go out in one NCCL group.
#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define CUCHECK(x)                                                            \
  do {                                                                        \
    cudaError_t rc_ = (x);                                                      \
    if (rc_ != cudaSuccess) {                                                   \
      std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(rc_));              \
      std::abort();                                                           \
    }                                                                         \
  } while (0)
#define NCHECK(x)                                                             \
  do {                                                                        \
    ncclResult_t rc_ = (x);                                                     \
    if (rc_ != ncclSuccess) {                                                   \
      std::fprintf(stderr, "NCCL: %s\n", ncclGetErrorString(rc_));              \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

enum Side { West = 0, East, South, North, kSides };

struct Field {
  float* data;
  int nx, ny, halo;
};

__device__ int edgeIndex(const Field& f, int side, int k, int layer, bool ghost) {
  const int off = ghost ? 0 : f.halo;
  const int sx = f.nx + 2 * f.halo;
  switch (side) {
    case West: return (k + f.halo) * sx + off + layer;
    case East: return (k + f.halo) * sx + f.nx + f.halo - off + layer;
    case South: return (off + layer) * sx + k + f.halo;
    default: return (f.ny + f.halo - off + layer) * sx + k + f.halo;
  }
}

__global__ void packSide(Field f, int side, int len, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < len * f.halo) out[i] = f.data[edgeIndex(f, side, i % len, i / len, false)];
}

__global__ void unpackSide(Field f, int side, int len, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < len * f.halo) f.data[edgeIndex(f, side, i % len, i / len, true)] = in[i];
}

class HaloExchanger {
 public:
  HaloExchanger(Field f, std::array<int, kSides> peers, ncclComm_t comm) : f_(f), peers_(peers), comm_(comm) {
    for (int s = 0; s < kSides; ++s) {
      CUCHECK(cudaStreamCreateWithFlags(&side_[s], cudaStreamNonBlocking));
      CUCHECK(cudaMalloc(&send_[s], bytes(s)));
      CUCHECK(cudaMalloc(&recv_[s], bytes(s)));
    }
    CUCHECK(cudaStreamCreateWithFlags(&comm_stream_, cudaStreamNonBlocking));
    CUCHECK(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    CUCHECK(cudaEventCreateWithFlags(&state_, cudaEventDisableTiming));
    CUCHECK(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
  }
  ~HaloExchanger() {
    for (int s = 0; s < kSides; ++s) CUCHECK(cudaStreamSynchronize(side_[s]));
    CUCHECK(cudaStreamSynchronize(comm_stream_));
    for (int s = 0; s < kSides; ++s) {
      cudaFree(send_[s]);
      cudaFree(recv_[s]);
      cudaStreamDestroy(side_[s]);
    }
    cudaEventDestroy(packed_);
    cudaEventDestroy(state_);
    cudaEventDestroy(filled_);
    cudaStreamDestroy(comm_stream_);
  }

  void begin(cudaStream_t solver) {
    CUCHECK(cudaEventRecord(state_, solver));
    for (int s = 0; s < kSides; ++s) {
      CUCHECK(cudaStreamWaitEvent(side_[s], state_, 0));
      pack(s);
    }
  }

  void finish(cudaStream_t solver) {
    CUCHECK(cudaStreamWaitEvent(comm_stream_, packed_, 0));
    NCHECK(ncclGroupStart());
    for (int s = 0; s < kSides; ++s) {
      NCHECK(ncclSend(send_[s], count(s), ncclFloat, peers_[s], comm_, comm_stream_));
      NCHECK(ncclRecv(recv_[s], count(s), ncclFloat, peers_[s], comm_, comm_stream_));
    }
    NCHECK(ncclGroupEnd());
    for (int s = 0; s < kSides; ++s)
      unpackSide<<<(count(s) + 127) / 128, 128, 0, comm_stream_>>>(f_, s, length(s), recv_[s]);
    CUCHECK(cudaGetLastError());
    CUCHECK(cudaEventRecord(filled_, comm_stream_));
    CUCHECK(cudaStreamWaitEvent(solver, filled_, 0));
  }

 private:
  int length(int s) const { return s <= East ? f_.ny : f_.nx; }
  size_t count(int s) const { return size_t(length(s)) * f_.halo; }
  size_t bytes(int s) const { return count(s) * sizeof(float); }

  void pack(int s) {
    packSide<<<(count(s) + 127) / 128, 128, 0, side_[s]>>>(f_, s, length(s), send_[s]);
    CUCHECK(cudaGetLastError());
    CUCHECK(cudaEventRecord(packed_, side_[s]));
  }

  Field f_;
  std::array<int, kSides> peers_;
  ncclComm_t comm_;
  std::array<cudaStream_t, kSides> side_{};
  std::array<float*, kSides> send_{}, recv_{};
  cudaStream_t comm_stream_ = nullptr;
  cudaEvent_t packed_ = nullptr, state_ = nullptr, filled_ = nullptr;
};

__global__ void barotropicStep(Field f, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < f.nx * f.ny) f.data[(i / f.nx + f.halo) * (f.nx + 2 * f.halo) + i % f.nx + f.halo] *= 1.f - dt;
}

void integrate(HaloExchanger& hx, Field f, int steps, float dt, cudaStream_t solver) {
  for (int n = 0; n < steps; ++n) {
    barotropicStep<<<(f.nx * f.ny + 255) / 256, 256, 0, solver>>>(f, dt);
    hx.begin(solver);
    hx.finish(solver);
  }
}
