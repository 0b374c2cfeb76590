// Molecular dynamics context: reciprocal-space (PME) part on its own stream beside the direct-space kernels.
// Modelled on openmm/openmm#1249.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static void check(cudaError_t e, const char* file, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(e));
    std::exit(1);
  }
}
#define CHECK_RESULT(x) check((x), __FILE__, __LINE__)

constexpr int kThreads = 256, kBlocks = 64, kEnergySlots = kThreads * kBlocks;

__global__ void computeNonbonded(const float4* posq, float4* force, int n, int neighbours) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = posq[i];
  float fx = 0, fy = 0;
  for (int k = 0; k < neighbours; ++k) {
    fx = fmaf(fx, 0.999f, p.x * 1e-3f);
    fy = fmaf(fy, 0.998f, p.y * 1e-3f);
  }
  force[i] = make_float4(fx, fy, p.z, 0);
}
__global__ void sumBondedEnergy(const float4* posq, float* energyBuffer, int n, int terms) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0;
  for (int k = 0; k < terms; ++k) e = fmaf(e, 0.9999f, posq[(slot + k) % n].x * 1e-4f);
  energyBuffer[slot] += e;
}
__global__ void gridEvaluateEnergy(const float4* posq, float* energyBuffer, int n, int gridLines) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  float e = 0, q = posq[slot % n].w;
  for (int k = 0; k < gridLines; ++k) e = fmaf(e, 0.9999f, q * 1e-4f);
  energyBuffer[slot] += e;
}
__global__ void reduceEnergy(const float* energyBuffer, float* result) {
  __shared__ float part[kThreads];
  float s = 0;
  for (int i = threadIdx.x; i < kEnergySlots; i += kThreads) s += energyBuffer[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int w = kThreads / 2; w; w /= 2) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) *result = part[0];
}
__global__ void initPositions(float4* posq, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) posq[i] = make_float4(i % 13, i % 17, i % 19, (i & 1) ? 0.4f : -0.4f);
}

class CudaContext {
 public:
  explicit CudaContext(int n) : n_(n) {
    CHECK_RESULT(cudaStreamCreateWithFlags(&current_, cudaStreamNonBlocking));
    CHECK_RESULT(cudaStreamCreateWithFlags(&pme_, cudaStreamNonBlocking));
    CHECK_RESULT(cudaEventCreateWithFlags(&pmeStart_, cudaEventDisableTiming));
    CHECK_RESULT(cudaEventCreateWithFlags(&pmeDone_, cudaEventDisableTiming));
    CHECK_RESULT(cudaMalloc(&posq_, n * sizeof(float4)));
    CHECK_RESULT(cudaMalloc(&force_, n * sizeof(float4)));
    CHECK_RESULT(cudaMalloc(&energyBuffer_, kEnergySlots * sizeof(float)));
    CHECK_RESULT(cudaMallocHost(&pinned_, sizeof(float)));
    CHECK_RESULT(cudaMalloc(&energy_, sizeof(float)));
    initPositions<<<(n + 255) / 256, 256, 0, current_>>>(posq_, n);
    CHECK_RESULT(cudaGetLastError());
  }
  ~CudaContext() {
    cudaStreamSynchronize(current_), cudaStreamSynchronize(pme_);
    cudaFree(posq_), cudaFree(force_), cudaFree(energyBuffer_), cudaFree(energy_), cudaFreeHost(pinned_);
    cudaEventDestroy(pmeStart_), cudaEventDestroy(pmeDone_);
    cudaStreamDestroy(current_), cudaStreamDestroy(pme_);
  }
  float calcForcesAndEnergy() {
    CHECK_RESULT(cudaMemsetAsync(energyBuffer_, 0, kEnergySlots * sizeof(float), current_));
    CHECK_RESULT(cudaEventRecord(pmeStart_, current_));
    CHECK_RESULT(cudaStreamWaitEvent(pme_, pmeStart_, 0));
    gridEvaluateEnergy<<<kBlocks, kThreads, 0, pme_>>>(posq_, energyBuffer_, n_, 250000);
    CHECK_RESULT(cudaEventRecord(pmeDone_, pme_));

    computeNonbonded<<<(n_ + 255) / 256, 256, 0, current_>>>(posq_, force_, n_, 5000);
#ifdef FIXED
    CHECK_RESULT(cudaStreamWaitEvent(current_, pmeDone_, 0));
#endif
    sumBondedEnergy<<<kBlocks, kThreads, 0, current_>>>(posq_, energyBuffer_, n_, 300);
#ifndef FIXED
    CHECK_RESULT(cudaStreamWaitEvent(current_, pmeDone_, 0));
#endif
    reduceEnergy<<<1, kThreads, 0, current_>>>(energyBuffer_, energy_);
    CHECK_RESULT(cudaGetLastError());
    CHECK_RESULT(cudaMemcpyAsync(pinned_, energy_, sizeof(float), cudaMemcpyDeviceToHost, current_));
    CHECK_RESULT(cudaStreamSynchronize(current_));
    return *pinned_;
  }

 private:
  int n_;
  cudaStream_t current_{}, pme_{};
  cudaEvent_t pmeStart_{}, pmeDone_{};
  float4 *posq_{}, *force_{};
  float *energyBuffer_{}, *energy_{}, *pinned_{};
};

int main() {
  CudaContext context(1 << 15);
  for (int step = 0; step < 5; ++step) std::printf("step %d E = %.6f\n", step, context.calcForcesAndEnergy());
  return 0;
}
