// Halo exchange for a shallow-water model on several ranks.  Needs a CUDA-aware MPI.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

// The part of <mpi.h> that is used here (Open MPI's ABI).
extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_status_public_t MPI_Status;
extern struct ompi_datatype_t* const mpi_float_handle;
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
}

namespace ocean {

inline void cuda(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
inline void mpi(int rc) {
  if (rc != 0) throw std::runtime_error("MPI error");
}

__global__ void packColumn(const float* field, int nx, int ny, int column, float* out) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) out[y] = field[y * nx + column];
}

__global__ void unpackColumn(float* field, int nx, int ny, int column, const float* in) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) field[y * nx + column] = in[y];
}

__global__ void relax(const float* in, float* out, int nx, int ny) {
  int x = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < nx - 1 && y < ny) {
    int c = y * nx + x;
    out[c] = 0.25f * in[c - 1] + 0.5f * in[c] + 0.25f * in[c + 1];
  }
}

struct Neighbour {
  int rank;
  int sendColumn;
  int recvColumn;
  float* sendBuffer = nullptr;
  float* recvBuffer = nullptr;
};

class HaloExchange {
 public:
  HaloExchange(MPI_Comm comm, int nx, int ny, int west, int east, cudaStream_t stream)
      : comm_(comm), nx_(nx), ny_(ny), stream_(stream),
        neighbours_{{{west, 1, 0}, {east, nx - 2, nx - 1}}} {
    for (Neighbour& n : neighbours_) {
      cuda(cudaMalloc(reinterpret_cast<void**>(&n.sendBuffer), ny_ * sizeof(float)));
      cuda(cudaMalloc(reinterpret_cast<void**>(&n.recvBuffer), ny_ * sizeof(float)));
    }
  }
  ~HaloExchange() {
    cudaStreamSynchronize(stream_);
    for (Neighbour& n : neighbours_) {
      cudaFree(n.recvBuffer);
      cudaFree(n.sendBuffer);
    }
  }
  HaloExchange(const HaloExchange&) = delete;
  HaloExchange& operator=(const HaloExchange&) = delete;

  void start(const float* field) {
    pack(field);
    cuda(cudaStreamSynchronize(stream_));
    post();
  }

  void finish(float* field) {
    mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), nullptr));
    for (const Neighbour& n : neighbours_) {
      unpackColumn<<<(ny_ + 127) / 128, 128, 0, stream_>>>(field, nx_, ny_, n.recvColumn, n.recvBuffer);
      cuda(cudaGetLastError());
    }
    // The receive buffers are free again when finish() returns.
    cuda(cudaStreamSynchronize(stream_));
  }

 private:
  void pack(const float* field) {
    for (const Neighbour& n : neighbours_) {
      packColumn<<<(ny_ + 127) / 128, 128, 0, stream_>>>(field, nx_, ny_, n.sendColumn, n.sendBuffer);
      cuda(cudaGetLastError());
    }
  }

  void post() {
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
      const Neighbour& n = neighbours_[i];
      const int tag = static_cast<int>(i);
      mpi(MPI_Irecv(n.recvBuffer, ny_, mpi_float_handle, n.rank, 1 - tag, comm_, &requests_[2 * i]));
      mpi(MPI_Isend(n.sendBuffer, ny_, mpi_float_handle, n.rank, tag, comm_, &requests_[2 * i + 1]));
    }
  }

  MPI_Comm comm_;
  int nx_, ny_;
  cudaStream_t stream_;
  std::array<Neighbour, 2> neighbours_;
  std::array<MPI_Request, 4> requests_{};
};

// Advances the field by `steps`; the result is in `a` when steps is even, else in `b`.
void advance(MPI_Comm comm, float* a, float* b, int nx, int ny, int west, int east, int steps) {
  cudaStream_t stream = nullptr;
  cuda(cudaStreamCreate(&stream));
  {
    HaloExchange halo(comm, nx, ny, west, east, stream);
    const dim3 grid((nx + 127) / 128, ny);
    for (int s = 0; s < steps; ++s) {
      relax<<<grid, 128, 0, stream>>>(a, b, nx, ny);
      cuda(cudaGetLastError());
      halo.start(b);
      halo.finish(b);
      float* t = a;
      a = b;
      b = t;
    }
    cuda(cudaStreamSynchronize(stream));
  }
  cuda(cudaStreamDestroy(stream));
}

}  // namespace ocean
