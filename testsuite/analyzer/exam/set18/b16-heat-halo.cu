// Distributed heat equation: one slab per rank, side columns are exchanged with
// a GPU-aware MPI (device pointers are handed to the library directly).
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

// The few MPI entry points in use (MPICH ABI).
extern "C" {
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Request;
struct MPI_Status;
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* req);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* req);
int MPI_Waitall(int count, MPI_Request* reqs, MPI_Status* statuses);
}
constexpr MPI_Datatype kDouble = 0x4c00080b;
#define MPI_STATUSES_IGNORE ((MPI_Status*)1)

template <typename Status>
inline void okOrDie(Status s, Status good, const char* what) {
  if (s == good) return;
  std::fprintf(stderr, "%s failed (%d)\n", what, static_cast<int>(s));
  std::abort();
}
#define RT(x) okOrDie((x), cudaSuccess, #x)
#define BLAS(x) okOrDie((x), CUBLAS_STATUS_SUCCESS, #x)

__global__ void packSides(const double* u, int nx, int ny, double* left, double* right) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= ny) return;
  left[y] = u[y * nx + 1];
  right[y] = u[y * nx + nx - 2];
}

__global__ void unpackSides(double* u, int nx, int ny, const double* left, const double* right) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= ny) return;
  u[y * nx] = left[y];
  u[y * nx + nx - 1] = right[y];
}

__global__ void relax(const double* u, double* v, double* diff, int nx, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  int i = y * nx + x;
  bool inner = x > 0 && y > 0 && x < nx - 1 && y < ny - 1;
  double w = inner ? 0.25 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx]) : u[i];
  v[i] = w;
  diff[i] = inner ? w - u[i] : 0.0;
}

class SideExchange {
 public:
  SideExchange(MPI_Comm comm, int leftRank, int rightRank, int ny) : comm_(comm), rank_{leftRank, rightRank}, ny_(ny) {
    for (int s = 0; s < 2; ++s) {
      RT(cudaMalloc(&send_[s], sizeof(double) * ny));
      RT(cudaMalloc(&recv_[s], sizeof(double) * ny));
    }
  }
  ~SideExchange() {
    for (int s = 0; s < 2; ++s) {
      cudaFree(recv_[s]);
      cudaFree(send_[s]);
    }
  }
  SideExchange(const SideExchange&) = delete;
  SideExchange& operator=(const SideExchange&) = delete;

  void refresh(double* u, int nx, cudaStream_t stream) {
    pack(u, nx, stream);
    transfer();
    unpackSides<<<(ny_ + 127) / 128, 128, 0, stream>>>(u, nx, ny_, recv_[0], recv_[1]);
    RT(cudaGetLastError());
  }

 private:
  void pack(const double* u, int nx, cudaStream_t stream) {
    packSides<<<(ny_ + 127) / 128, 128, 0, stream>>>(u, nx, ny_, send_[0], send_[1]);
    RT(cudaGetLastError());
  }

  void transfer() {
    MPI_Request reqs[4];
    for (int s = 0; s < 2; ++s) okOrDie(MPI_Irecv(recv_[s], ny_, kDouble, rank_[s], 1 - s, comm_, &reqs[s]), 0, "irecv");
    for (int s = 0; s < 2; ++s) okOrDie(MPI_Isend(send_[s], ny_, kDouble, rank_[s], s, comm_, &reqs[2 + s]), 0, "isend");
    okOrDie(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE), 0, "waitall");
  }

  MPI_Comm comm_;
  int rank_[2];
  int ny_;
  double* send_[2] = {};
  double* recv_[2] = {};
};

// Iterates until the local change is small; returns the number of sweeps.
int solveSlab(double* u, double* v, double* diff, int nx, int ny, SideExchange& sides, double tolerance) {
  cudaStream_t stream;
  cublasHandle_t blas;
  RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  BLAS(cublasCreate(&blas));
  BLAS(cublasSetStream(blas, stream));
  BLAS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
  int sweeps = 0;
  for (; sweeps < 10000; ++sweeps) {
    sides.refresh(u, nx, stream);
    dim3 block(32, 8), grid((nx + 31) / 32, (ny + 7) / 8);
    relax<<<grid, block, 0, stream>>>(u, v, diff, nx, ny);
    RT(cudaGetLastError());
    double norm = 0.0;
    BLAS(cublasDnrm2(blas, nx * ny, diff, 1, &norm));
    std::swap(u, v);
    if (norm < tolerance) break;
  }
  RT(cudaStreamSynchronize(stream));
  BLAS(cublasDestroy(blas));
  RT(cudaStreamDestroy(stream));
  return sweeps;
}
