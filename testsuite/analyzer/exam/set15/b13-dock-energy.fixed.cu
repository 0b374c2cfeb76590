#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Scoring of rigid docking poses: the long-range term is evaluated on a stream of its own.

static void drv(CUresult r, const char* what) {
  if (r != CUDA_SUCCESS) {
    const char* name = nullptr;
    cuGetErrorName(r, &name);
    std::fprintf(stderr, "%s: %s\n", what, name ? name : "?");
    std::exit(1);
  }
}

__global__ void electrostatic_kernel(const float4* ligand, const float* potential, float* energy,
                                     int atoms) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < atoms) energy[i] += ligand[i].w * potential[i];
}

__global__ void vdw_kernel(const float4* ligand, const float4* receptor, int receptor_atoms,
                           float* energy, int atoms) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= atoms) return;
  float sum = 0.f;
  for (int j = 0; j < receptor_atoms; ++j) {
    const float dx = ligand[i].x - receptor[j].x, dy = ligand[i].y - receptor[j].y;
    const float dz = ligand[i].z - receptor[j].z;
    const float inv6 = 1.f / (powf(dx * dx + dy * dy + dz * dz, 3.f) + 1e-3f);
    sum += inv6 * inv6 - inv6;
  }
  energy[i] += sum;
}

class DriverBuffer {
 public:
  explicit DriverBuffer(size_t bytes) { drv(cuMemAlloc(&p_, bytes), "cuMemAlloc"); }
  ~DriverBuffer() { cuMemFree(p_); }
  DriverBuffer(const DriverBuffer&) = delete;
  DriverBuffer& operator=(const DriverBuffer&) = delete;
  CUdeviceptr ptr() const { return p_; }

 private:
  CUdeviceptr p_ = 0;
};

class PoseScorer {
 public:
  PoseScorer(int atoms, int receptor_atoms)
      : atoms_(atoms), receptor_atoms_(receptor_atoms), ligand_(atoms * sizeof(float4)),
        receptor_(receptor_atoms * sizeof(float4)), potential_(atoms * sizeof(float)),
        energy_(atoms * sizeof(float)) {
    drv(cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING), "main stream");
    drv(cuStreamCreate(&long_range_, CU_STREAM_NON_BLOCKING), "long-range stream");
    drv(cuEventCreate(&start_, CU_EVENT_DISABLE_TIMING), "event");
    drv(cuEventCreate(&long_range_done_, CU_EVENT_DISABLE_TIMING), "event");
    cudaGetFuncBySymbol(&electrostatic_, reinterpret_cast<const void*>(electrostatic_kernel));
    cudaGetFuncBySymbol(&vdw_, reinterpret_cast<const void*>(vdw_kernel));
  }
  ~PoseScorer() {
    cuCtxSynchronize();
    cuEventDestroy(long_range_done_);
    cuEventDestroy(start_);
    cuStreamDestroy(long_range_);
    cuStreamDestroy(main_);
  }

  void load(const std::vector<float4>& ligand, const std::vector<float4>& receptor,
            const std::vector<float>& potential) {
    drv(cuMemcpyHtoDAsync(ligand_.ptr(), ligand.data(), atoms_ * sizeof(float4), main_), "ligand");
    drv(cuMemcpyHtoDAsync(receptor_.ptr(), receptor.data(), receptor_atoms_ * sizeof(float4), main_),
        "receptor");
    drv(cuMemcpyHtoDAsync(potential_.ptr(), potential.data(), atoms_ * sizeof(float), main_),
        "potential");
    drv(cuStreamSynchronize(main_), "load");
  }

  float score() {
    drv(cuMemsetD32Async(energy_.ptr(), 0, atoms_, main_), "clear");
    add_electrostatics();
    add_van_der_waals();
    return total();
  }

 private:
  unsigned blocks() const { return (atoms_ + 127) / 128; }

  void add_electrostatics() {
    drv(cuEventRecord(start_, main_), "record");
    drv(cuStreamWaitEvent(long_range_, start_, 0), "wait");
    CUdeviceptr ligand = ligand_.ptr(), potential = potential_.ptr(), energy = energy_.ptr();
    void* args[] = {&ligand, &potential, &energy, &atoms_};
    drv(cuLaunchKernel(reinterpret_cast<CUfunction>(electrostatic_), blocks(), 1, 1, 128, 1, 1, 0,
                       long_range_, args, nullptr),
        "electrostatic_kernel");
    drv(cuEventRecord(long_range_done_, long_range_), "record");
  }

  void add_van_der_waals() {
    CUdeviceptr ligand = ligand_.ptr(), receptor = receptor_.ptr(), energy = energy_.ptr();
    void* args[] = {&ligand, &receptor, &receptor_atoms_, &energy, &atoms_};
    drv(cuStreamWaitEvent(main_, long_range_done_, 0), "wait");
    drv(cuLaunchKernel(reinterpret_cast<CUfunction>(vdw_), blocks(), 1, 1, 128, 1, 1, 0, main_, args,
                       nullptr),
        "vdw_kernel");
  }

  float total() {
    std::vector<float> host(atoms_);
    drv(cuMemcpyDtoHAsync(host.data(), energy_.ptr(), atoms_ * sizeof(float), main_), "energy");
    drv(cuStreamSynchronize(main_), "energy");
    float sum = 0.f;
    for (float e : host) sum += e;
    return sum;
  }

  int atoms_, receptor_atoms_;
  DriverBuffer ligand_, receptor_, potential_, energy_;
  CUstream main_ = nullptr, long_range_ = nullptr;
  CUevent start_ = nullptr, long_range_done_ = nullptr;
  cudaFunction_t electrostatic_ = nullptr, vdw_ = nullptr;
};

int main() {
  if (cudaFree(nullptr) != cudaSuccess) return 1;  // makes the primary context current
  constexpr int kAtoms = 40000, kReceptor = 2000;
  std::vector<float4> ligand(kAtoms), receptor(kReceptor);
  std::vector<float> potential(kAtoms, 0.1f);
  for (int i = 0; i < kAtoms; ++i) ligand[i] = make_float4(0.01f * i, 1.f, 2.f, 0.3f);
  for (int j = 0; j < kReceptor; ++j) receptor[j] = make_float4(0.2f * j, 0.f, 0.f, 0.f);
  PoseScorer scorer(kAtoms, kReceptor);
  scorer.load(ligand, receptor, potential);
  for (int pose = 0; pose < 10; ++pose) std::printf("%d: %f\n", pose, scorer.score());
  return 0;
}
