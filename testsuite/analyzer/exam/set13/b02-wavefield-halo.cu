// Halo exchange of a 3-D acoustic wavefield, GPU-aware MPI.
#include <cuda_runtime.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

// The part of mpi.h (MPICH ABI) that this file needs.
extern "C" {
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Request;
struct MPI_Status {
  int count_lo, count_hi, source, tag, error;
};
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Waitall(int, MPI_Request*, MPI_Status*);
}
#define MPI_FLOAT ((MPI_Datatype)0x4c00040a)
#define MPI_STATUSES_IGNORE ((MPI_Status*)1)

namespace seismic {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Extent {
  int nx, ny, nz;
  int radius;
  int plane() const { return nx * ny; }
  int halo() const { return plane() * radius; }
};

__global__ void pack_planes(const float* u, float* out, int first_plane, int plane, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = u[static_cast<size_t>(first_plane) * plane + i];
}

__global__ void unpack_planes(float* u, const float* in, int first_plane, int plane, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) u[static_cast<size_t>(first_plane) * plane + i] = in[i];
}

__global__ void leapfrog(float* next, const float* cur, const float* vel, int plane, int nx, int lo,
                         int hi) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= plane) return;
  for (int z = lo; z < hi; ++z) {
    size_t k = static_cast<size_t>(z) * plane + i;
    float lap = cur[k - plane] + cur[k + plane] - 2.f * cur[k];
    next[k] = 2.f * cur[k] - next[k] + vel[k] * lap;
  }
}

class DeviceArray {
 public:
  explicit DeviceArray(size_t n) { check(cudaMalloc(&p_, n * sizeof(float)), "cudaMalloc"); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  float* get() const { return p_; }

 private:
  float* p_ = nullptr;
};

enum Face { Lower = 0, Upper = 1 };

class HaloExchanger {
 public:
  HaloExchanger(Extent e, MPI_Comm comm, std::array<int, 2> neighbours)
      : e_(e), comm_(comm), peer_(neighbours),
        send_{DeviceArray(e.halo()), DeviceArray(e.halo())},
        recv_{DeviceArray(e.halo()), DeviceArray(e.halo())} {}

  void begin(const float* u, cudaStream_t s) {
    for (Face f : {Lower, Upper}) {
      if (peer_[f] < 0) continue;
      int plane = f == Lower ? e_.radius : e_.nz - 2 * e_.radius;
      pack_planes<<<grid(), 256, 0, s>>>(u, send_[f].get(), plane, e_.plane(), e_.halo());
    }
    post();
  }

  void finish(float* u, cudaStream_t s) {
    MPI_Waitall(static_cast<int>(pending_.size()), pending_.data(), MPI_STATUSES_IGNORE);
    pending_.clear();
    for (Face f : {Lower, Upper}) {
      if (peer_[f] < 0) continue;
      int plane = f == Lower ? 0 : e_.nz - e_.radius;
      unpack_planes<<<grid(), 256, 0, s>>>(u, recv_[f].get(), plane, e_.plane(), e_.halo());
    }
    // The receive buffers are posted again in the next step.
    check(cudaStreamSynchronize(s), "unpack");
  }

 private:
  int grid() const { return (e_.halo() + 255) / 256; }

  void post() {
    for (Face f : {Lower, Upper}) {
      if (peer_[f] < 0) continue;
      MPI_Request r[2];
      MPI_Irecv(recv_[f].get(), e_.halo(), MPI_FLOAT, peer_[f], 1 - f, comm_, &r[0]);
      MPI_Isend(send_[f].get(), e_.halo(), MPI_FLOAT, peer_[f], f, comm_, &r[1]);
      pending_.insert(pending_.end(), r, r + 2);
    }
  }

  Extent e_;
  MPI_Comm comm_;
  std::array<int, 2> peer_;
  DeviceArray send_[2];
  DeviceArray recv_[2];
  std::vector<MPI_Request> pending_;
};

class Propagator {
 public:
  Propagator(Extent e, MPI_Comm comm, std::array<int, 2> neighbours)
      : e_(e), halo_(e, comm, neighbours), cur_(size()), next_(size()), vel_(size()) {
    check(cudaStreamCreate(&halo_stream_), "stream");
    check(cudaStreamCreate(&bulk_stream_), "stream");
    for (DeviceArray* a : {&cur_, &next_, &vel_})
      check(cudaMemset(a->get(), 0, size() * sizeof(float)), "memset");
    u_[0] = cur_.get();
    u_[1] = next_.get();
  }
  ~Propagator() {
    cudaStreamSynchronize(bulk_stream_);
    cudaStreamDestroy(bulk_stream_);
    cudaStreamDestroy(halo_stream_);
  }

  void step() {
    halo_.begin(u_[0], halo_stream_);
    int g = (e_.plane() + 127) / 128;
    leapfrog<<<g, 128, 0, bulk_stream_>>>(u_[1], u_[0], vel_.get(), e_.plane(), e_.nx,
                                          2 * e_.radius, e_.nz - 2 * e_.radius);
    halo_.finish(u_[0], halo_stream_);
    leapfrog<<<g, 128, 0, bulk_stream_>>>(u_[1], u_[0], vel_.get(), e_.plane(), e_.nx, e_.radius,
                                          2 * e_.radius);
    leapfrog<<<g, 128, 0, bulk_stream_>>>(u_[1], u_[0], vel_.get(), e_.plane(), e_.nx,
                                          e_.nz - 2 * e_.radius, e_.nz - e_.radius);
    check(cudaStreamSynchronize(bulk_stream_), "step");
    std::swap(u_[0], u_[1]);
  }

 private:
  size_t size() const { return static_cast<size_t>(e_.plane()) * e_.nz; }

  Extent e_;
  HaloExchanger halo_;
  DeviceArray cur_, next_, vel_;
  float* u_[2];
  cudaStream_t halo_stream_{}, bulk_stream_{};
};

void propagate(const Extent& e, MPI_Comm comm, int below, int above, int steps) {
  Propagator p(e, comm, {below, above});
  for (int i = 0; i < steps; ++i) p.step();
}

}  // namespace seismic
