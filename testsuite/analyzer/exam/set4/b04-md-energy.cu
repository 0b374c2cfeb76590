// Force/energy evaluation of the MD engine, driver API back end.
#include <cuda.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace md {

static void ck(CUresult r, const char* where) {
  if (r == CUDA_SUCCESS) return;
  const char* s = nullptr;
  cuGetErrorString(r, &s);
  throw std::runtime_error(std::string(where) + ": " + (s ? s : "?"));
}
#define CK(x) ::md::ck((x), #x)

extern "C" __global__ void spreadCharges(const float4* posq, float* grid, int atoms, int gridSize) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < atoms) atomicAdd(&grid[(unsigned)(posq[i].x * 1000.f) % gridSize], posq[i].w);
}

extern "C" __global__ void convolveGrid(float* grid, int gridSize) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < gridSize) grid[i] *= __expf(-1e-4f * i);
}

extern "C" __global__ void gridEnergy(const float* grid, float* energyBuffer, int gridSize) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0;
  for (int i = t; i < gridSize; i += blockDim.x * gridDim.x) e += grid[i] * grid[i];
  energyBuffer[t] += e;
}

extern "C" __global__ void pairForces(const float4* posq, float4* force, float* energyBuffer, int atoms) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0;
  for (int i = t; i < atoms; i += blockDim.x * gridDim.x) {
    float4 p = posq[i];
    float r2 = p.x * p.x + p.y * p.y + p.z * p.z + 0.01f;
    force[i] = make_float4(p.x / r2, p.y / r2, p.z / r2, 0);
    e += p.w / r2;
  }
  energyBuffer[t] += e;
}

struct Kernel {
  CUfunction fn = nullptr;
  template <typename F>
  void bind(F* symbol) {
    cudaFunction_t f;
    if (cudaGetFuncBySymbol(&f, reinterpret_cast<const void*>(symbol)) != cudaSuccess)
      throw std::runtime_error("kernel not found");
    fn = f;
  }
  void launch(unsigned blocks, CUstream s, std::vector<void*> args) const {
    CK(cuLaunchKernel(fn, blocks, 1, 1, 256, 1, 1, 0, s, args.data(), nullptr));
  }
};

constexpr unsigned kBlocks = 128;
constexpr unsigned kThreads = kBlocks * 256;

class PmeSolver {
 public:
  PmeSolver(int atoms, int gridSize) : atoms_(atoms), gridSize_(gridSize) {
    CK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CK(cuEventCreate(&done_, CU_EVENT_DISABLE_TIMING));
    CK(cuMemAlloc(&grid_, gridSize_ * sizeof(float)));
    spread_.bind(spreadCharges);
    convolve_.bind(convolveGrid);
    energy_.bind(gridEnergy);
  }
  ~PmeSolver() {
    cuStreamSynchronize(stream_);
    cuMemFree(grid_);
    cuEventDestroy(done_);
    cuStreamDestroy(stream_);
  }

  void begin(CUevent inputsReady, CUdeviceptr posq) {
    CK(cuStreamWaitEvent(stream_, inputsReady, 0));
    CK(cuMemsetD32Async(grid_, 0, gridSize_, stream_));
    spread_.launch((atoms_ + 255) / 256, stream_, {&posq, &grid_, &atoms_, &gridSize_});
    convolve_.launch((gridSize_ + 255) / 256, stream_, {&grid_, &gridSize_});
  }
  void accumulate(CUdeviceptr energyBuffer, CUstream s) {
    energy_.launch(kBlocks, s, {&grid_, &energyBuffer, &gridSize_});
  }
  void join(CUstream into) {
    CK(cuEventRecord(done_, stream_));
    CK(cuStreamWaitEvent(into, done_, 0));
  }
  CUstream stream() const { return stream_; }

 private:
  int atoms_, gridSize_;
  CUstream stream_{};
  CUevent done_{};
  CUdeviceptr grid_{};
  Kernel spread_, convolve_, energy_;
};

class ForceContext {
 public:
  ForceContext(int atoms, CUstream main) : atoms_(atoms), main_(main), pme_(atoms, 1 << 18) {
    CK(cuMemAlloc(&posq_, atoms_ * sizeof(float4)));
    CK(cuMemAlloc(&force_, atoms_ * sizeof(float4)));
    CK(cuMemAlloc(&energy_, kThreads * sizeof(float)));
    CK(cuEventCreate(&inputsReady_, CU_EVENT_DISABLE_TIMING));
    pair_.bind(pairForces);
  }
  ~ForceContext() {
    cuStreamSynchronize(main_);
    cuEventDestroy(inputsReady_);
    cuMemFree(energy_);
    cuMemFree(force_);
    cuMemFree(posq_);
  }

  double evaluate(const std::vector<float4>& positions) {
    CK(cuMemcpyHtoDAsync(posq_, positions.data(), atoms_ * sizeof(float4), main_));
    CK(cuMemsetD32Async(energy_, 0, kThreads, main_));
    CK(cuEventRecord(inputsReady_, main_));
    pme_.begin(inputsReady_, posq_);
    pme_.accumulate(energy_, pme_.stream());
    pair_.launch(kBlocks, main_, {&posq_, &force_, &energy_, &atoms_});
    pme_.join(main_);
    std::vector<float> parts(kThreads);
    CK(cuMemcpyDtoHAsync(parts.data(), energy_, kThreads * sizeof(float), main_));
    CK(cuStreamSynchronize(main_));
    double total = 0;
    for (float v : parts) total += v;
    return total;
  }

 private:
  int atoms_;
  CUstream main_;
  PmeSolver pme_;
  CUdeviceptr posq_{}, force_{}, energy_{};
  CUevent inputsReady_{};
  Kernel pair_;
};

}  // namespace md

int main() {
  cudaFree(nullptr);
  CUstream main;
  CK(cuStreamCreate(&main, CU_STREAM_NON_BLOCKING));
  double last = 0;
  {
    md::ForceContext ctx(100000, main);
    std::vector<float4> pos(100000, make_float4(.1f, .2f, .3f, 1.f));
    for (int step = 0; step < 50; ++step) last = ctx.evaluate(pos);
  }
  CK(cuStreamDestroy(main));
  return last > 0 ? 0 : 1;
}
