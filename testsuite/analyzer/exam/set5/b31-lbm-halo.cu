// Lattice-Boltzmann slab decomposition, device buffers handed straight to MPI.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_datatype_t* MPI_Datatype;
struct MPI_Status_s;
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Waitall(int, MPI_Request*, struct MPI_Status_s*);
}

#define GPU(x)                                                       \
  do {                                                               \
    if (cudaError_t e = (x)) {                                       \
      std::fprintf(stderr, "%s\n", cudaGetErrorString(e));           \
      std::abort();                                                  \
    }                                                                \
  } while (0)

namespace lbm {

struct Slab {
  int nx, ny, nz;  // nz includes two ghost planes
  int below, above;
  MPI_Comm comm;
  MPI_Datatype real;
};

__global__ void pack_plane(const float* f, float* out, int plane, int nx, int ny, int nz, int q0) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = nx * ny;
  if (i < n)
    for (int q = 0; q < 5; ++q) out[q * n + i] = f[(size_t(q0 + q) * nz + plane) * n + i];
}

__global__ void unpack_plane(float* f, const float* in, int plane, int nx, int ny, int nz, int q0) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int n = nx * ny;
  if (i < n)
    for (int q = 0; q < 5; ++q) f[(size_t(q0 + q) * nz + plane) * n + i] = in[q * n + i];
}

__global__ void relax(float* f, size_t n, float omega) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    f[i] -= omega * (f[i] - 0.0526f);
}

__global__ void total_mass(const float* f, size_t n, float* mass) {
  float acc = 0.f;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) acc += f[i];
  atomicAdd(mass, acc);
}

class GhostExchange {
 public:
  GhostExchange(const Slab& s, float* f, cudaStream_t stream) : s_(s), f_(f), stream_(stream) {
    for (auto* v : {&send_[0], &send_[1], &recv_[0], &recv_[1]}) GPU(cudaMalloc(v, count() * sizeof(float)));
  }
  ~GhostExchange() {
    GPU(cudaStreamSynchronize(stream_));
    for (float* p : {send_[0], send_[1], recv_[0], recv_[1]}) GPU(cudaFree(p));
  }

  void pack() {
    pack_plane<<<blocks(), 256, 0, stream_>>>(f_, send_[0], 1, s_.nx, s_.ny, s_.nz, 9);
    pack_plane<<<blocks(), 256, 0, stream_>>>(f_, send_[1], s_.nz - 2, s_.nx, s_.ny, s_.nz, 14);
    GPU(cudaGetLastError());
  }

  void start() {
    MPI_Irecv(recv_[0], count(), s_.real, s_.below, 1, s_.comm, &req_[0]);
    MPI_Irecv(recv_[1], count(), s_.real, s_.above, 0, s_.comm, &req_[1]);
    MPI_Isend(send_[0], count(), s_.real, s_.below, 0, s_.comm, &req_[2]);
    MPI_Isend(send_[1], count(), s_.real, s_.above, 1, s_.comm, &req_[3]);
  }

  void finish() {
    MPI_Waitall(4, req_, nullptr);
    unpack_plane<<<blocks(), 256, 0, stream_>>>(f_, recv_[0], 0, s_.nx, s_.ny, s_.nz, 14);
    unpack_plane<<<blocks(), 256, 0, stream_>>>(f_, recv_[1], s_.nz - 1, s_.nx, s_.ny, s_.nz, 9);
    GPU(cudaGetLastError());
  }

 private:
  int count() const { return 5 * s_.nx * s_.ny; }
  unsigned blocks() const { return unsigned(s_.nx * s_.ny + 255) / 256; }
  Slab s_;
  float* f_;
  cudaStream_t stream_;
  float* send_[2]{};
  float* recv_[2]{};
  MPI_Request req_[4]{};
};

class Flow {
 public:
  explicit Flow(const Slab& s) : slab_(s), n_(size_t(19) * s.nx * s.ny * s.nz) {
    GPU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GPU(cudaMalloc(&f_, n_ * sizeof(float)));
    GPU(cudaMallocManaged(&mass_, sizeof(float)));
    GPU(cudaMemsetAsync(f_, 0, n_ * sizeof(float), stream_));
  }
  ~Flow() {
    GPU(cudaStreamSynchronize(stream_));
    GPU(cudaFree(f_));
    GPU(cudaFree(mass_));
    GPU(cudaStreamDestroy(stream_));
  }

  std::vector<float> advance(int steps) {
    std::vector<float> history;
    GhostExchange ghosts(slab_, f_, stream_);
    for (int t = 0; t < steps; ++t) {
      relax<<<512, 256, 0, stream_>>>(f_, n_, 1.7f);
      ghosts.pack();
      ghosts.start();
      ghosts.finish();
      GPU(cudaMemsetAsync(mass_, 0, sizeof(float), stream_));
      total_mass<<<512, 256, 0, stream_>>>(f_, n_, mass_);
      GPU(cudaStreamSynchronize(stream_));
      history.push_back(*mass_);
    }
    return history;
  }

 private:
  Slab slab_;
  size_t n_;
  cudaStream_t stream_{};
  float* f_ = nullptr;
  float* mass_ = nullptr;
};

}  // namespace lbm
