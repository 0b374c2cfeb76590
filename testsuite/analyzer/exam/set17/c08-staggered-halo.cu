// Halo exchange that starts each message as soon as its own face is packed, and unpacks the
// faces in the order of arrival.  Needs a CUDA-aware MPI.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

// The part of <mpi.h> that is used here (MPICH's ABI).
extern "C" {
typedef int MPI_Comm;
typedef int MPI_Request;
typedef int MPI_Datatype;
struct MPI_Status {
  int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR;
};
int MPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
}
#define MPI_FLOAT ((MPI_Datatype)0x4c00040a)
#define MPI_REQUEST_NULL ((MPI_Request)0x2c000000)

namespace plasma {

void cu(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}
void mp(int rc) {
  if (rc != 0) throw std::runtime_error("MPI call failed");
}

__global__ void gatherCells(const float* field, const int* cells, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = field[cells[i]];
}

__global__ void scatterCells(float* field, const int* cells, int n, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) field[cells[i]] = in[i];
}

struct Link {
  int rank;
  int sendTag, recvTag;
  std::vector<int> inner;  // cells that the neighbour needs
  std::vector<int> ghost;  // cells that the neighbour fills
};

class Face {
 public:
  explicit Face(const Link& link) : rank(link.rank), sendTag(link.sendTag), recvTag(link.recvTag),
        nInner(static_cast<int>(link.inner.size())), nGhost(static_cast<int>(link.ghost.size())) {
    cu(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cu(cudaEventCreateWithFlags(&packed, cudaEventDisableTiming));
    cu(cudaEventCreateWithFlags(&unpacked, cudaEventDisableTiming));
    cu(cudaMalloc(reinterpret_cast<void**>(&inner), nInner * sizeof(int)));
    cu(cudaMalloc(reinterpret_cast<void**>(&ghost), nGhost * sizeof(int)));
    cu(cudaMalloc(reinterpret_cast<void**>(&sendBuffer), nInner * sizeof(float)));
    cu(cudaMalloc(reinterpret_cast<void**>(&recvBuffer), nGhost * sizeof(float)));
    cu(cudaMemcpyAsync(inner, link.inner.data(), nInner * sizeof(int), cudaMemcpyHostToDevice, stream));
    cu(cudaMemcpyAsync(ghost, link.ghost.data(), nGhost * sizeof(int), cudaMemcpyHostToDevice, stream));
    cu(cudaStreamSynchronize(stream));
  }
  ~Face() {
    cudaStreamSynchronize(stream);
    for (void* p : {static_cast<void*>(inner), static_cast<void*>(ghost), static_cast<void*>(sendBuffer),
                    static_cast<void*>(recvBuffer)})
      cudaFree(p);
    cudaEventDestroy(unpacked);
    cudaEventDestroy(packed);
    cudaStreamDestroy(stream);
  }
  Face(const Face&) = delete;
  Face& operator=(const Face&) = delete;

  int rank, sendTag, recvTag, nInner, nGhost;
  cudaStream_t stream = nullptr;
  cudaEvent_t packed = nullptr, unpacked = nullptr;
  int *inner = nullptr, *ghost = nullptr;
  float *sendBuffer = nullptr, *recvBuffer = nullptr;
};

class StaggeredHalo {
 public:
  StaggeredHalo(MPI_Comm comm, const std::vector<Link>& links) : comm_(comm) {
    for (const Link& link : links) faces_.push_back(std::make_unique<Face>(link));
    receives_.assign(faces_.size(), MPI_REQUEST_NULL);
    sends_.assign(faces_.size(), MPI_REQUEST_NULL);
    cu(cudaEventCreateWithFlags(&fieldReady_, cudaEventDisableTiming));
  }
  ~StaggeredHalo() { cudaEventDestroy(fieldReady_); }

  // Fills the ghost cells of `field`, which is made and used on `solver`.
  void exchange(float* field, cudaStream_t solver) {
    cu(cudaEventRecord(fieldReady_, solver));
    for (auto& face : faces_) pack(*face, field);
    postReceives();
    postSends();
    unpackAsTheyCome(field, solver);
    std::vector<MPI_Status> statuses(sends_.size());
    mp(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), statuses.data()));
  }

 private:
  void pack(Face& face, const float* field) {
    cu(cudaStreamWaitEvent(face.stream, fieldReady_, 0));
    gatherCells<<<(face.nInner + 127) / 128, 128, 0, face.stream>>>(field, face.inner, face.nInner, face.sendBuffer);
    cu(cudaGetLastError());
    cu(cudaEventRecord(face.packed, face.stream));
  }

  void postReceives() {
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      Face& face = *faces_[i];
      cu(cudaEventSynchronize(face.unpacked));
      mp(MPI_Irecv(face.recvBuffer, face.nGhost, MPI_FLOAT, face.rank, face.recvTag, comm_, &receives_[i]));
    }
  }

  void postSends() {
    for (std::size_t i = 0; i < faces_.size(); ++i) {
      Face& face = *faces_[i];
      cu(cudaEventSynchronize(face.packed));
      mp(MPI_Isend(face.sendBuffer, face.nInner, MPI_FLOAT, face.rank, face.sendTag, comm_, &sends_[i]));
    }
  }

  void unpackAsTheyCome(float* field, cudaStream_t solver) {
    for (std::size_t k = 0; k < faces_.size(); ++k) {
      int i = -1;
      MPI_Status status;
      mp(MPI_Waitany(static_cast<int>(receives_.size()), receives_.data(), &i, &status));
      Face& face = *faces_[i];
      scatterCells<<<(face.nGhost + 127) / 128, 128, 0, face.stream>>>(field, face.ghost, face.nGhost, face.recvBuffer);
      cu(cudaGetLastError());
      cu(cudaEventRecord(face.unpacked, face.stream));
      cu(cudaStreamWaitEvent(solver, face.unpacked, 0));
    }
  }

  MPI_Comm comm_;
  std::vector<std::unique_ptr<Face>> faces_;
  std::vector<MPI_Request> receives_, sends_;
  cudaEvent_t fieldReady_ = nullptr;
};

}  // namespace plasma
