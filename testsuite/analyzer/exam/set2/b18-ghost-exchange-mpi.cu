// Ghost exchange of a distributed vector with a CUDA-aware MPI.
#include <cuda_runtime.h>
#include <vector>

#if __has_include(<mpi.h>)
#include <mpi.h>
#else
extern "C" {
typedef struct mpi_comm_s *MPI_Comm;
typedef struct mpi_req_s *MPI_Request;
typedef struct mpi_type_s *MPI_Datatype;
extern MPI_Datatype mpi_type_double;
#define MPI_DOUBLE mpi_type_double
#define MPI_STATUSES_IGNORE nullptr
struct mpi_status_s;
int MPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Waitall(int, MPI_Request *, mpi_status_s *);
}
#endif

namespace LA
{
  __global__ void
  pack_ghosts(const double *values, const unsigned int *indices, unsigned int n, double *send)
  {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
      send[i] = values[indices[i]];
  }

  __global__ void
  apply_laplace(const double *src, const double *ghosts, unsigned int n_local, double *dst)
  {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_local)
      return;
    const double left  = i == 0 ? ghosts[0] : src[i - 1];
    const double right = i + 1 == n_local ? ghosts[1] : src[i + 1];
    dst[i]             = 2. * src[i] - left - right;
  }

  struct Neighbor
  {
    int          rank;
    unsigned int offset;
    unsigned int count;
  };

  class Partitioner
  {
  public:
    Partitioner(MPI_Comm comm, std::vector<Neighbor> neighbors, const unsigned int *device_indices,
                unsigned int n_exported, double *send, double *ghosts)
      : comm(comm), neighbors(std::move(neighbors)), indices(device_indices)
      , n_exported(n_exported), send(send), ghosts(ghosts)
    {}

    void
    update_ghosts_start(const double *values, cudaStream_t stream)
    {
      requests.clear();
      for (const Neighbor &nb : neighbors)
        MPI_Irecv(ghosts + nb.offset, nb.count, MPI_DOUBLE, nb.rank, 17, comm, new_request());

      pack_ghosts<<<(n_exported + 255) / 256, 256, 0, stream>>>(values, indices, n_exported, send);

      for (const Neighbor &nb : neighbors)
        MPI_Isend(send + nb.offset, nb.count, MPI_DOUBLE, nb.rank, 17, comm, new_request());
    }

    void
    update_ghosts_finish()
    {
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }

  private:
    MPI_Request *
    new_request()
    {
      requests.reserve(2 * neighbors.size());
      requests.emplace_back();
      return &requests.back();
    }

    MPI_Comm                 comm;
    std::vector<Neighbor>    neighbors;
    const unsigned int *     indices;
    unsigned int             n_exported;
    double *                 send;
    double *                 ghosts;
    std::vector<MPI_Request> requests;
  };

  void
  vmult(Partitioner &part, const double *src, const double *ghosts, double *dst, unsigned int n, cudaStream_t stream)
  {
    part.update_ghosts_start(src, stream);
    part.update_ghosts_finish();
    apply_laplace<<<(n + 255) / 256, 256, 0, stream>>>(src, ghosts, n, dst);
    cudaStreamSynchronize(stream);
  }
} // namespace LA
