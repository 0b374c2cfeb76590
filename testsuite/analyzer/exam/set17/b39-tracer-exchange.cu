// Upwind advection of tracers on a column-decomposed ocean grid; ghost columns go through a
// GPU-aware MPI.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <utility>

// The part of MPI that is used here (Open MPI ABI).
extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_status_public_t MPI_Status;
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Waitall(int, MPI_Request*, MPI_Status*);
}

namespace ocean {

#define OCEAN_CUDA(call) ::ocean::require((call) == cudaSuccess, #call)
#define OCEAN_MPI(call) ::ocean::require((call) == 0, #call)

inline void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

// Columns 0 and nx + 1 are ghosts; a column has ny cells, columns are strided by 1.
__global__ void packColumns(const float* t, float* west, float* east, int nx, int ny) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= ny) return;
  const float* row = t + size_t(j) * (nx + 2);
  west[j] = row[1];
  east[j] = row[nx];
}

__global__ void unpackColumns(float* t, const float* west, const float* east, int nx, int ny) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= ny) return;
  float* row = t + size_t(j) * (nx + 2);
  row[0] = west[j];
  row[nx + 1] = east[j];
}

__global__ void advect(const float* t, float* next, float* change, float courant, int nx, int ny) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int j = blockIdx.y;
  if (i > nx || j >= ny) return;
  const float* row = t + size_t(j) * (nx + 2);
  const float d = courant >= 0.f ? row[i] - row[i - 1] : row[i + 1] - row[i];
  next[size_t(j) * (nx + 2) + i] = row[i] - courant * d;
  atomicAdd(change, fabsf(courant * d));
}

struct Neighbours {
  int west, east;
};

// Device buffers for one pair of ghost columns in each direction.
class GhostLink {
 public:
  GhostLink(MPI_Comm comm, MPI_Datatype real, Neighbours n, int ny)
      : comm_(comm), real_(real), peers_(n), ny_(ny) {
    OCEAN_CUDA(cudaMalloc(reinterpret_cast<void**>(&base_), size_t(4) * ny * sizeof(float)));
  }
  GhostLink(const GhostLink&) = delete;
  ~GhostLink() { cudaFree(base_); }

  float* sendWest() const { return base_; }
  float* sendEast() const { return base_ + ny_; }
  float* recvWest() const { return base_ + 2 * size_t(ny_); }
  float* recvEast() const { return base_ + 3 * size_t(ny_); }

  void transfer() {
    MPI_Request rq[4];
    OCEAN_MPI(MPI_Irecv(recvWest(), ny_, real_, peers_.west, 7, comm_, &rq[0]));
    OCEAN_MPI(MPI_Irecv(recvEast(), ny_, real_, peers_.east, 8, comm_, &rq[1]));
    OCEAN_MPI(MPI_Isend(sendEast(), ny_, real_, peers_.east, 7, comm_, &rq[2]));
    OCEAN_MPI(MPI_Isend(sendWest(), ny_, real_, peers_.west, 8, comm_, &rq[3]));
    OCEAN_MPI(MPI_Waitall(4, rq, nullptr));
  }

 private:
  MPI_Comm comm_;
  MPI_Datatype real_;
  Neighbours peers_;
  int ny_;
  float* base_ = nullptr;
};

class Tracer {
 public:
  Tracer(int nx, int ny, MPI_Comm comm, MPI_Datatype real, Neighbours n)
      : nx_(nx), ny_(ny), link_(comm, real, n, ny) {
    OCEAN_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const size_t bytes = size_t(nx_ + 2) * ny_ * sizeof(float);
    OCEAN_CUDA(cudaMalloc(reinterpret_cast<void**>(&cur_), bytes));
    OCEAN_CUDA(cudaMalloc(reinterpret_cast<void**>(&next_), bytes));
    OCEAN_CUDA(cudaMalloc(reinterpret_cast<void**>(&change_), sizeof(float)));
    OCEAN_CUDA(cudaMemsetAsync(cur_, 0, bytes, stream_));
    OCEAN_CUDA(cudaMemsetAsync(next_, 0, bytes, stream_));
    OCEAN_CUDA(cudaStreamSynchronize(stream_));
  }
  Tracer(const Tracer&) = delete;
  ~Tracer() {
    cudaStreamSynchronize(stream_);
    cudaFree(cur_);
    cudaFree(next_);
    cudaFree(change_);
    cudaStreamDestroy(stream_);
  }

  // One time step; returns the summed local change. The stream is idle on return.
  float step(float courant) {
    exchangeGhosts();
    float change = 0.f;
    OCEAN_CUDA(cudaMemsetAsync(change_, 0, sizeof(float), stream_));
    advect<<<dim3((nx_ + 127) / 128, ny_), 128, 0, stream_>>>(cur_, next_, change_, courant, nx_, ny_);
    OCEAN_CUDA(cudaGetLastError());
    OCEAN_CUDA(cudaMemcpyAsync(&change, change_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    OCEAN_CUDA(cudaStreamSynchronize(stream_));
    std::swap(cur_, next_);
    return change;
  }

 private:
  void exchangeGhosts() {
    const int grid = (ny_ + 127) / 128;
    packColumns<<<grid, 128, 0, stream_>>>(cur_, link_.sendWest(), link_.sendEast(), nx_, ny_);
    OCEAN_CUDA(cudaGetLastError());
    link_.transfer();
    unpackColumns<<<grid, 128, 0, stream_>>>(cur_, link_.recvWest(), link_.recvEast(), nx_, ny_);
    OCEAN_CUDA(cudaGetLastError());
  }

  int nx_, ny_;
  GhostLink link_;
  cudaStream_t stream_ = nullptr;
  float *cur_ = nullptr, *next_ = nullptr, *change_ = nullptr;
};

}  // namespace ocean
