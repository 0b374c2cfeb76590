// Acoustic wave propagation, one time step spread over three helper streams:
// interior stencil, free-surface rows, absorbing frame.
#include <cuda_runtime.h>

#include <array>
#include <string>
#include <cstdio>
#include <stdexcept>
#include <utility>

static void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Grid {
  int nx, nz;
  int cells() const { return nx * nz; }
};

__global__ void stepInterior(const float* prev, const float* cur, float* next, Grid g, float c2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int z = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 8 || z < 8 || x >= g.nx - 8 || z >= g.nz - 8) return;
  int i = z * g.nx + x;
  float lap = cur[i - 1] + cur[i + 1] + cur[i - g.nx] + cur[i + g.nx] - 4.0f * cur[i];
  next[i] = 2.0f * cur[i] - prev[i] + c2 * lap;
}

__global__ void stepSurface(const float* cur, float* next, Grid g) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= g.nx) return;
  for (int z = 0; z < 8; ++z) next[z * g.nx + x] = z == 0 ? 0.0f : 0.5f * cur[(z - 1) * g.nx + x];
}

__global__ void stepAbsorbing(const float* cur, float* next, Grid g, float damp) {
  int z = 8 + blockIdx.x * blockDim.x + threadIdx.x;
  if (z >= g.nz) return;
  for (int x = 0; x < g.nx; ++x) {
    bool frame = x < 8 || x >= g.nx - 8 || z >= g.nz - 8;
    if (frame) next[z * g.nx + x] = damp * cur[z * g.nx + x];
  }
}

__global__ void sampleReceivers(const float* field, const int* cell, int n, float* trace) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n) trace[r] = field[cell[r]];
}

class Lane {
 public:
  Lane() {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    must(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "event");
  }
  ~Lane() {
    cudaEventDestroy(done_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  cudaStream_t stream() const { return stream_; }
  void after(cudaEvent_t e) { must(cudaStreamWaitEvent(stream_, e, 0), "wait"); }
  void mark() { must(cudaEventRecord(done_, stream_), "record"); }
  void gate(const Lane& other) { after(other.done_); }
  cudaEvent_t done() const { return done_; }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

class Propagator {
 public:
  explicit Propagator(Grid g) : grid_(g) {
    for (auto& f : field_) {
      must(cudaMalloc(&f, sizeof(float) * g.cells()), "field");
      must(cudaMemsetAsync(f, 0, sizeof(float) * g.cells(), main_.stream()), "clear");
    }
  }
  ~Propagator() {
    cudaDeviceSynchronize();
    for (auto f : field_) cudaFree(f);
  }

  // Trace memory belongs to the caller, who reads it after finish().
  void step(const int* receivers, int count, float* trace, float c2) {
    fork();
    updateInterior(c2);
    updateSurface();
    updateFrame(0.92f);
    join();
    sampleReceivers<<<(count + 127) / 128, 128, 0, main_.stream()>>>(field_[2], receivers, count, trace);
    must(cudaGetLastError(), "receivers");
    std::swap(field_[0], field_[1]);
    std::swap(field_[1], field_[2]);
  }

  void finish() { must(cudaStreamSynchronize(main_.stream()), "finish"); }

 private:
  void fork() {
    main_.mark();
    interior_.gate(main_);
    surface_.gate(main_);
    frame_.gate(main_);
  }

  void updateInterior(float c2) {
    dim3 block(32, 8), grid((grid_.nx + 31) / 32, (grid_.nz + 7) / 8);
    stepInterior<<<grid, block, 0, interior_.stream()>>>(field_[0], field_[1], field_[2], grid_, c2);
    must(cudaGetLastError(), "interior");
    interior_.mark();
  }

  void updateSurface() {
    stepSurface<<<(grid_.nx + 127) / 128, 128, 0, surface_.stream()>>>(field_[1], field_[2], grid_);
    must(cudaGetLastError(), "surface");
    surface_.mark();
  }

  void updateFrame(float damp) {
    stepAbsorbing<<<(grid_.nz + 127) / 128, 128, 0, frame_.stream()>>>(field_[1], field_[2], grid_, damp);
    must(cudaGetLastError(), "frame");
    frame_.mark();
  }

  void join() {
    main_.gate(interior_);
    main_.gate(surface_);
    main_.gate(frame_);
  }

  Grid grid_;
  Lane main_, interior_, surface_, frame_;
  std::array<float*, 3> field_{};
};
