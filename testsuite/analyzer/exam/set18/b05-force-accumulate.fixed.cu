// Force evaluation of a particle code on the driver API: a short-range part and
// a mesh part run on two streams and add into one force array.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define DRV(call)                                                       \
  do {                                                                  \
    CUresult r_ = (call);                                               \
    if (r_ != CUDA_SUCCESS) {                                           \
      const char* s_ = nullptr;                                         \
      cuGetErrorString(r_, &s_);                                        \
      std::fprintf(stderr, "%s failed: %s\n", #call, s_ ? s_ : "?");    \
      std::abort();                                                     \
    }                                                                   \
  } while (0)

extern "C" __global__ void shortRange(const float* pos, float* force, int n, float cutoff) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.0f;
  for (int j = max(0, i - 16); j < min(n, i + 16); ++j) {
    float d = pos[i] - pos[j];
    if (j != i && fabsf(d) < cutoff) acc += d / (d * d + 1e-3f);
  }
  force[i] += acc;
}

extern "C" __global__ void spreadCharge(const float* pos, float* mesh, int n, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&mesh[min(cells - 1, max(0, int(pos[i] * cells)))], 1.0f);
}

extern "C" __global__ void gatherForce(const float* pos, const float* mesh, float* force, int n, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int c = min(cells - 2, max(1, int(pos[i] * cells)));
  force[i] += 0.5f * (mesh[c - 1] - mesh[c + 1]);
}

extern "C" __global__ void advance(float* pos, float* vel, const float* force, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  vel[i] += dt * force[i];
  pos[i] += dt * vel[i];
}

static CUfunction lookup(const void* symbol) {
  cudaFunction_t fn = nullptr;
  if (cudaGetFuncBySymbol(&fn, symbol) != cudaSuccess) std::abort();
  return fn;
}

class ForceEngine {
 public:
  // Positions and velocities are device arrays filled before construction ends
  // on the host's side; a context is current on the calling thread.
  ForceEngine(CUdeviceptr pos, CUdeviceptr vel, int n, int cells)
      : pos_(pos), vel_(vel), n_(n), cells_(cells),
        short_(lookup((const void*)shortRange)), spread_(lookup((const void*)spreadCharge)),
        gather_(lookup((const void*)gatherForce)), advance_(lookup((const void*)advance)) {
    DRV(cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING));
    DRV(cuStreamCreate(&mesh_, CU_STREAM_NON_BLOCKING));
    DRV(cuEventCreate(&begin_, CU_EVENT_DISABLE_TIMING));
    DRV(cuEventCreate(&meshDone_, CU_EVENT_DISABLE_TIMING));
    DRV(cuEventCreate(&shortDone_, CU_EVENT_DISABLE_TIMING));
    DRV(cuMemAlloc(&force_, sizeof(float) * n_));
    DRV(cuMemAlloc(&density_, sizeof(float) * cells_));
  }
  ~ForceEngine() {
    cuStreamSynchronize(mesh_);
    cuStreamSynchronize(main_);
    cuMemFree(density_);
    cuMemFree(force_);
    cuEventDestroy(shortDone_);
    cuEventDestroy(meshDone_);
    cuEventDestroy(begin_);
    cuStreamDestroy(mesh_);
    cuStreamDestroy(main_);
  }
  ForceEngine(const ForceEngine&) = delete;
  ForceEngine& operator=(const ForceEngine&) = delete;

  void step(float dt) {
    DRV(cuMemsetD32Async(force_, 0, n_, main_));
    DRV(cuEventRecord(begin_, main_));
    enqueueShort();
    enqueueMesh();
    DRV(cuStreamWaitEvent(main_, meshDone_, 0));
    void* args[] = {&pos_, &vel_, &force_, &n_, &dt};
    launch(advance_, n_, main_, args);
  }

  void wait() { DRV(cuStreamSynchronize(main_)); }

 private:
  static void launch(CUfunction f, int items, CUstream s, void** args) {
    DRV(cuLaunchKernel(f, (items + 127) / 128, 1, 1, 128, 1, 1, 0, s, args, nullptr));
  }

  void enqueueShort() {
    void* args[] = {&pos_, &force_, &n_, &cutoff_};
    launch(short_, n_, main_, args);
    DRV(cuEventRecord(shortDone_, main_));
  }

  void enqueueMesh() {
    DRV(cuStreamWaitEvent(mesh_, begin_, 0));
    DRV(cuMemsetD32Async(density_, 0, cells_, mesh_));
    void* spreadArgs[] = {&pos_, &density_, &n_, &cells_};
    launch(spread_, n_, mesh_, spreadArgs);
    DRV(cuStreamWaitEvent(mesh_, shortDone_, 0));
    void* gatherArgs[] = {&pos_, &density_, &force_, &n_, &cells_};
    launch(gather_, n_, mesh_, gatherArgs);
    DRV(cuEventRecord(meshDone_, mesh_));
  }

  CUdeviceptr pos_, vel_, force_ = 0, density_ = 0;
  int n_, cells_;
  float cutoff_ = 0.05f;
  CUfunction short_, spread_, gather_, advance_;
  CUstream main_ = nullptr, mesh_ = nullptr;
  CUevent begin_ = nullptr, meshDone_ = nullptr;
  CUevent shortDone_ = nullptr;
};
