#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

// The few MPI declarations that this file needs (Open MPI ABI).
extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_status_public_t MPI_Status;
extern struct ompi_predefined_datatype_t ompi_mpi_double;
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* req);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* req);
int MPI_Waitall(int count, MPI_Request reqs[], MPI_Status* statuses);
}
#define MPI_DOUBLE (reinterpret_cast<MPI_Datatype>(&ompi_mpi_double))
#define MPI_STATUSES_IGNORE (static_cast<MPI_Status*>(nullptr))

namespace la {

#define AssertCuda(code) do { if ((code) != cudaSuccess) __builtin_abort(); } while (false)

struct Neighbour {
  int rank;
  int n_export;
  int n_import;
  double* export_buf;  // device, CUDA-aware MPI
  double* import_buf;  // device
  const unsigned* export_idx;
};

__global__ void gather(const double* v, const unsigned* idx, double* buf, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) buf[i] = v[idx[i]];
}

__global__ void append_ghosts(double* ghosts, const double* buf, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ghosts[i] = buf[i];
}

class GhostExchange {
 public:
  GhostExchange(MPI_Comm comm, std::vector<Neighbour> neighbours, cudaStream_t stream)
      : comm_(comm), neighbours_(std::move(neighbours)), stream_(stream) {}

  void update_start(const double* v) {
    // import_buf and export_buf may still be in use by the previous update.
    AssertCuda(cudaStreamSynchronize(stream_));
    requests_.resize(2 * neighbours_.size());
    auto* req = requests_.data();
    for (auto& nb : neighbours_)
      MPI_Irecv(nb.import_buf, nb.n_import, MPI_DOUBLE, nb.rank, 7, comm_, req++);
    pack_all(v);
    send_all(req);
  }

  void update_finish(double* ghosts) {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (auto& nb : neighbours_) {
      append_ghosts<<<(nb.n_import + 127) / 128, 128, 0, stream_>>>(ghosts, nb.import_buf, nb.n_import);
      AssertCuda(cudaGetLastError());
      ghosts += nb.n_import;
    }
  }

 private:
  void pack_all(const double* v) {
    for (auto& nb : neighbours_) {
      gather<<<(nb.n_export + 127) / 128, 128, 0, stream_>>>(v, nb.export_idx, nb.export_buf, nb.n_export);
      AssertCuda(cudaGetLastError());
    }
    AssertCuda(cudaStreamSynchronize(stream_));
  }

  void send_all(MPI_Request* req) {
    for (auto& nb : neighbours_)
      MPI_Isend(nb.export_buf, nb.n_export, MPI_DOUBLE, nb.rank, 7, comm_, req++);
  }

  MPI_Comm comm_;
  std::vector<Neighbour> neighbours_;
  std::vector<MPI_Request> requests_;
  cudaStream_t stream_;
};

}  // namespace la
