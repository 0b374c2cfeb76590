// Block-structured solver: boxes are visited by an iterator that rotates over the streams of a pool.
// Modelled on AMReX-Fluids/CAMR#91.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define AMREX_CUDA_SAFE_CALL(call)                                                              \
  do {                                                                                          \
    cudaError_t err_ = (call);                                                                  \
    if (err_ != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "%s line %d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err_));   \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (0)

namespace Gpu {
std::vector<cudaStream_t> pool;
int active = 0;
void Initialize(int n) {
  pool.resize(n);
  for (auto& s : pool) AMREX_CUDA_SAFE_CALL(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
}
cudaStream_t gpuStream() { return pool[active]; }
void streamSynchronize() { AMREX_CUDA_SAFE_CALL(cudaStreamSynchronize(gpuStream())); }
void streamSynchronizeAll() {
  for (auto s : pool) AMREX_CUDA_SAFE_CALL(cudaStreamSynchronize(s));
}
}  // namespace Gpu

template <class F>
__global__ void launch_global(int n, F f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

struct FArrayBox {
  float* p{};
  int n;
  explicit FArrayBox(int cells) : n(cells) { AMREX_CUDA_SAFE_CALL(cudaMalloc(&p, cells * sizeof(float))); }
  ~FArrayBox() { cudaFree(p); }
  FArrayBox(FArrayBox&& o) noexcept : p(std::exchange(o.p, nullptr)), n(o.n) {}
};

class MFIter {
 public:
  explicit MFIter(int boxes) : boxes_(boxes) { Gpu::active = 0; }
  ~MFIter() {
    Gpu::streamSynchronizeAll();
    Gpu::active = 0;
  }
  bool isValid() const { return i_ < boxes_; }
  void operator++() {
    ++i_;
    Gpu::active = i_ % int(Gpu::pool.size());
  }
  int index() const { return i_; }

 private:
  int boxes_, i_ = 0;
};

struct SetVal {
  float* dm;
  float v;
  __device__ void operator()(int i) const { dm[i] = v; }
};
struct FineAdd {
  float* reg;
  const float* dm;
  __device__ void operator()(int i) const {
    float a = 0;
    for (int k = 0; k < 100000; ++k) a = fmaf(a, 0.9999f, 1e-5f);
    reg[i] += a + dm[i];
  }
};

// One scratch box for all fine boxes of the level, sized for the largest.
void hydro_advance(std::vector<FArrayBox>& state, FArrayBox& dm_as_fine, int step) {
  for (MFIter mfi(int(state.size())); mfi.isValid(); ++mfi) {
    FArrayBox& reg = state[mfi.index()];
    const int n = reg.n, grid = (n + 255) / 256;
    launch_global<<<grid, 256, 0, Gpu::gpuStream()>>>(n, SetVal{dm_as_fine.p, float(step + mfi.index())});
    launch_global<<<grid, 256, 0, Gpu::gpuStream()>>>(n, FineAdd{reg.p, dm_as_fine.p});
    AMREX_CUDA_SAFE_CALL(cudaGetLastError());
#ifdef FIXED
    Gpu::streamSynchronize();
#endif
  }
}

int main() {
  Gpu::Initialize(4);
  constexpr int cells = 1 << 14, boxes = 6;
  {
    std::vector<FArrayBox> state;
    for (int b = 0; b < boxes; ++b) state.emplace_back(cells);
    FArrayBox dm_as_fine(cells);
    for (auto& f : state) AMREX_CUDA_SAFE_CALL(cudaMemsetAsync(f.p, 0, cells * sizeof(float), Gpu::gpuStream()));
    Gpu::streamSynchronizeAll();
    for (int step = 0; step < 3; ++step) hydro_advance(state, dm_as_fine, step);
    float v;
    AMREX_CUDA_SAFE_CALL(cudaMemcpy(&v, state.back().p + 5, sizeof v, cudaMemcpyDeviceToHost));
    std::printf("register %f\n", v);
  }
  for (auto s : Gpu::pool) cudaStreamDestroy(s);
  AMREX_CUDA_SAFE_CALL(cudaGetLastError());
  return 0;
}
