// Heat conduction on a ring of ranks. The edge rows are packed on an urgent stream; the host
// waits for those only, while the interior goes on during the messages.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern "C" {
typedef struct ompi_communicator_t* MPI_Comm;
typedef struct ompi_datatype_t* MPI_Datatype;
typedef struct ompi_request_t* MPI_Request;
typedef struct ompi_status_public_t MPI_Status;
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Waitall(int, MPI_Request*, MPI_Status*);
}

#define HALO_CHECK(call)                                                         \
  do {                                                                           \
    if (int(call) != 0) throw std::runtime_error(#call);                         \
  } while (0)

namespace halo {

// Rows 0 and ny + 1 are ghosts.
__global__ void conduct(const float* t, float* next, int nx, int firstRow, int rows, float k) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = firstRow + blockIdx.y;
  if (x >= nx || int(blockIdx.y) >= rows) return;
  const size_t i = size_t(r) * nx + x;
  const float w = t[x > 0 ? i - 1 : i], e = t[x + 1 < nx ? i + 1 : i];
  next[i] = t[i] + k * (w + e + t[i - nx] + t[i + nx] - 4.f * t[i]);
}

struct Ring {
  MPI_Comm comm;
  MPI_Datatype real;
  int above, below;
};

class HeatSlab {
 public:
  HeatSlab(int nx, int ny, Ring ring) : nx_(nx), ny_(ny), ring_(ring) {
    if (ny < 3) throw std::invalid_argument("too few rows");
    int least = 0, greatest = 0;
    HALO_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    HALO_CHECK(cudaStreamCreateWithPriority(&edge_, cudaStreamNonBlocking, greatest));
    HALO_CHECK(cudaStreamCreateWithPriority(&bulk_, cudaStreamNonBlocking, least));
    for (cudaEvent_t* e : {&edgeDone_, &bulkDone_})
      HALO_CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    for (float** p : {&cur_, &next_})
      HALO_CHECK(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
  }
  HeatSlab(const HeatSlab&) = delete;
  ~HeatSlab() {
    cudaStreamSynchronize(edge_);
    cudaStreamSynchronize(bulk_);
    cudaFree(cur_);
    cudaFree(next_);
    cudaEventDestroy(edgeDone_);
    cudaEventDestroy(bulkDone_);
    cudaStreamDestroy(edge_);
    cudaStreamDestroy(bulk_);
  }

  void load(const std::vector<float>& rows) {  // all rows including ghosts
    if (rows.size() * sizeof(float) != bytes()) throw std::length_error("rows");
    HALO_CHECK(cudaStreamSynchronize(edge_));
    for (float* p : {cur_, next_})
      HALO_CHECK(cudaMemcpyAsync(p, rows.data(), bytes(), cudaMemcpyHostToDevice, bulk_));
    HALO_CHECK(cudaStreamSynchronize(bulk_));
  }

  void step(float k) {
    crossWait();
    sweep(edge_, 1, 1, k);
    sweep(edge_, ny_, 1, k);
    HALO_CHECK(cudaEventRecord(edgeDone_, edge_));
    sweep(bulk_, 2, ny_ - 2, k);
    HALO_CHECK(cudaEventRecord(bulkDone_, bulk_));
    HALO_CHECK(cudaEventSynchronize(edgeDone_));
    swapGhosts(next_);
    std::swap(cur_, next_);
  }

  std::vector<float> read() {
    std::vector<float> host(bytes() / sizeof(float));
    crossWait();
    HALO_CHECK(cudaMemcpyAsync(host.data(), cur_, bytes(), cudaMemcpyDeviceToHost, bulk_));
    HALO_CHECK(cudaStreamSynchronize(bulk_));
    return host;
  }

 private:
  // Each stream needs the other one's rows of the last step, and may overwrite what it has read.
  void crossWait() {
    HALO_CHECK(cudaStreamWaitEvent(edge_, bulkDone_, 0));
    HALO_CHECK(cudaStreamWaitEvent(bulk_, edgeDone_, 0));
  }

  void sweep(cudaStream_t s, int firstRow, int rows, float k) {
    const dim3 grid((nx_ + 127) / 128, rows);
    conduct<<<grid, 128, 0, s>>>(cur_, next_, nx_, firstRow, rows, k);
    HALO_CHECK(cudaGetLastError());
  }

  // The edge rows of `t` are complete; its ghost rows are used by nothing that still runs: they
  // were read last by the edge kernels of the step before, which came before the present ones.
  void swapGhosts(float* t) {
    MPI_Request rq[4];
    float *ghostAbove = t, *ghostBelow = t + size_t(ny_ + 1) * nx_;
    const float *top = t + nx_, *bottom = t + size_t(ny_) * nx_;
    HALO_CHECK(MPI_Irecv(ghostAbove, nx_, ring_.real, ring_.above, 1, ring_.comm, &rq[0]));
    HALO_CHECK(MPI_Irecv(ghostBelow, nx_, ring_.real, ring_.below, 2, ring_.comm, &rq[1]));
    HALO_CHECK(MPI_Isend(bottom, nx_, ring_.real, ring_.below, 1, ring_.comm, &rq[2]));
    HALO_CHECK(MPI_Isend(top, nx_, ring_.real, ring_.above, 2, ring_.comm, &rq[3]));
    HALO_CHECK(MPI_Waitall(4, rq, nullptr));
  }

  size_t bytes() const { return size_t(ny_ + 2) * nx_ * sizeof(float); }

  int nx_, ny_;
  Ring ring_;
  cudaStream_t edge_ = nullptr, bulk_ = nullptr;
  cudaEvent_t edgeDone_ = nullptr, bulkDone_ = nullptr;
  float *cur_ = nullptr, *next_ = nullptr;
};

}  // namespace halo
