// Boundary exchange of the two-GPU ocean model: each device owns one half of the basin and sends its western and
// eastern rim to the other device once per baroclinic step.
#include <cuda_runtime.h>

#include <stdexcept>

namespace basin {

inline void must(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

enum Side { kWest = 0, kEast = 1 };

__global__ void pack_column(const float* field, int nx, int ny, int column, float* rim) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) rim[y] = field[y * nx + column];
}

__global__ void unpack_column(float* field, int nx, int ny, int column, const float* rim) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) field[y * nx + column] = rim[y];
}

// Half of the basin on one device. `step` is the stream of the dynamical core and belongs to the caller.
struct Half {
  int device;
  int nx;
  int ny;
  float* field;
  cudaStream_t step;
};

class RimSender {
 public:
  RimSender(const Half& from, const Half& to) : from_(from), to_(to) {
    must(cudaSetDevice(to_.device));
    for (int s = 0; s < 2; ++s) must(cudaMalloc(&inbox_[s], bytes()));
    must(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
    must(cudaSetDevice(from_.device));
    for (int s = 0; s < 2; ++s) {
      must(cudaMalloc(&outbox_[s], bytes()));
      must(cudaStreamCreateWithFlags(&pack_[s], cudaStreamNonBlocking));
    }
    must(cudaStreamCreateWithFlags(&link_, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    must(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    must(cudaEventCreateWithFlags(&shipped_, cudaEventDisableTiming));
  }

  ~RimSender() {
    cudaSetDevice(to_.device);
    cudaStreamSynchronize(to_.step);
    cudaSetDevice(from_.device);
    cudaStreamSynchronize(link_);
    cudaEventDestroy(shipped_);
    cudaEventDestroy(packed_);
    cudaEventDestroy(stepped_);
    cudaStreamDestroy(link_);
    for (int s = 0; s < 2; ++s) {
      cudaStreamDestroy(pack_[s]);
      cudaFree(outbox_[s]);
    }
    cudaSetDevice(to_.device);
    cudaEventDestroy(consumed_);
    for (int s = 0; s < 2; ++s) cudaFree(inbox_[s]);
  }

  RimSender(const RimSender&) = delete;
  RimSender& operator=(const RimSender&) = delete;

  void exchange() {
    must(cudaSetDevice(from_.device));
    must(cudaEventRecord(stepped_, from_.step));
    pack(kWest);
    pack(kEast);
    ship();
    must(cudaSetDevice(to_.device));
    unpack();
  }

 private:
  size_t bytes() const { return sizeof(float) * from_.ny; }
  int grid() const { return (from_.ny + 127) / 128; }

  void pack(Side side) {
    must(cudaStreamWaitEvent(pack_[side], stepped_, 0));
    must(cudaStreamWaitEvent(pack_[side], shipped_, 0));
    int column = side == kWest ? 1 : from_.nx - 2;
    pack_column<<<grid(), 128, 0, pack_[side]>>>(from_.field, from_.nx, from_.ny, column, outbox_[side]);
    must(cudaGetLastError());
    must(cudaEventRecord(packed_, pack_[side]));
  }

  void ship() {
    must(cudaStreamWaitEvent(link_, packed_, 0));
    must(cudaStreamWaitEvent(link_, consumed_, 0));
    for (int s = 0; s < 2; ++s) {
      must(cudaMemcpyPeerAsync(inbox_[s], to_.device, outbox_[s], from_.device, bytes(), link_));
    }
    must(cudaEventRecord(shipped_, link_));
    // The core of the sending half may overwrite its field from here on.
    must(cudaStreamWaitEvent(from_.step, shipped_, 0));
  }

  void unpack() {
    must(cudaStreamWaitEvent(to_.step, shipped_, 0));
    unpack_column<<<grid(), 128, 0, to_.step>>>(to_.field, to_.nx, to_.ny, to_.nx - 1, inbox_[kWest]);
    unpack_column<<<grid(), 128, 0, to_.step>>>(to_.field, to_.nx, to_.ny, 0, inbox_[kEast]);
    must(cudaGetLastError());
    must(cudaEventRecord(consumed_, to_.step));
  }

  Half from_;
  Half to_;
  float* inbox_[2] = {};
  float* outbox_[2] = {};
  cudaStream_t pack_[2] = {};
  cudaStream_t link_ = nullptr;
  cudaEvent_t stepped_ = nullptr;
  cudaEvent_t packed_ = nullptr;
  cudaEvent_t shipped_ = nullptr;
  cudaEvent_t consumed_ = nullptr;
};

// Called by the time loop after both cores have enqueued their step.
void exchange_rims(RimSender& a_to_b, RimSender& b_to_a) {
  a_to_b.exchange();
  b_to_a.exchange();
}

}  // namespace basin
