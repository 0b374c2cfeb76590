// Trajectory output of a molecular dynamics engine. A frame is quantised on the simulation's stream and copied
// to the host on a stream of the writer, so that the integrator need not wait for PCIe.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

namespace mdio {

#define MDIO_CHECK(expr)                                                                          \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

struct PackedAtom {
  std::int16_t x, y, z, type;
};

__global__ void quantise(const float4* pos, PackedAtom* out, int atoms, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= atoms) return;
  float4 p = pos[i];
  out[i] = {static_cast<std::int16_t>(p.x * scale), static_cast<std::int16_t>(p.y * scale),
            static_cast<std::int16_t>(p.z * scale), static_cast<std::int16_t>(p.w)};
}

__global__ void drift(float4* pos, const float4* vel, int atoms, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= atoms) return;
  pos[i].x += dt * vel[i].x;
  pos[i].y += dt * vel[i].y;
  pos[i].z += dt * vel[i].z;
}

class TrajectoryWriter {
 public:
  using Sink = std::function<void(long step, const PackedAtom* frame, int atoms)>;

  TrajectoryWriter(int atoms, int framesPerFlush, float scale, Sink sink)
      : atoms_(atoms), scale_(scale), sink_(std::move(sink)), steps_(framesPerFlush, 0) {
    MDIO_CHECK(cudaStreamCreateWithFlags(&io_, cudaStreamNonBlocking));
    MDIO_CHECK(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    MDIO_CHECK(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
    MDIO_CHECK(cudaMalloc(reinterpret_cast<void**>(&frame_), atoms * sizeof(PackedAtom)));
    MDIO_CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_),
                              static_cast<std::size_t>(framesPerFlush) * atoms * sizeof(PackedAtom)));
  }
  TrajectoryWriter(const TrajectoryWriter&) = delete;
  TrajectoryWriter& operator=(const TrajectoryWriter&) = delete;
  ~TrajectoryWriter() {
    flush();
    cudaFreeHost(host_);
    cudaFree(frame_);
    cudaEventDestroy(packed_);
    cudaEventDestroy(copied_);
    cudaStreamDestroy(io_);
  }

  // `pos` may be changed by work that is enqueued to `simulation` after this call.
  void capture(const float4* pos, long step, cudaStream_t simulation) {
    if (filled_ == steps_.size()) flush();
    pack(pos, simulation);
    steps_[filled_] = step;
    download(hostFrame(filled_));
    ++filled_;
  }

  void flush() {
    MDIO_CHECK(cudaStreamSynchronize(io_));
    for (std::size_t f = 0; f < filled_; ++f) sink_(steps_[f], hostFrame(f), atoms_);
    filled_ = 0;
  }

 private:
  PackedAtom* hostFrame(std::size_t f) const { return host_ + f * atoms_; }

  void pack(const float4* pos, cudaStream_t simulation) {
    MDIO_CHECK(cudaStreamWaitEvent(simulation, copied_, 0));
    quantise<<<(atoms_ + 127) / 128, 128, 0, simulation>>>(pos, frame_, atoms_, scale_);
    MDIO_CHECK(cudaGetLastError());
    MDIO_CHECK(cudaEventRecord(packed_, simulation));
  }

  void download(PackedAtom* dst) {
    MDIO_CHECK(cudaStreamWaitEvent(io_, packed_, 0));
    MDIO_CHECK(cudaMemcpyAsync(dst, frame_, atoms_ * sizeof(PackedAtom), cudaMemcpyDeviceToHost, io_));
    MDIO_CHECK(cudaEventRecord(copied_, io_));
  }

  int atoms_;
  float scale_;
  Sink sink_;
  std::vector<long> steps_;
  std::size_t filled_ = 0;
  PackedAtom* frame_ = nullptr;
  PackedAtom* host_ = nullptr;
  cudaStream_t io_ = nullptr;
  cudaEvent_t packed_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};

// Free flight between two collisions, with a frame every `every` steps.
void propagate(float4* pos, const float4* vel, int atoms, int steps, int every, TrajectoryWriter& out,
               cudaStream_t simulation) {
  for (int s = 0; s < steps; ++s) {
    drift<<<(atoms + 127) / 128, 128, 0, simulation>>>(pos, vel, atoms, 0.002f);
    MDIO_CHECK(cudaGetLastError());
    if (s % every == 0) out.capture(pos, s, simulation);
  }
}

}  // namespace mdio
