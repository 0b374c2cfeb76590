// Molecular dynamics: bonded, short-range and long-range forces run side by
// side in three streams; the integrator follows on the main stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MD_CHECK(call)                                                                 \
  do {                                                                                 \
    const cudaError_t status = (call);                                                 \
    if (status != cudaSuccess) {                                                       \
      std::fprintf(stderr, "MD: %s at %d\n", cudaGetErrorString(status), __LINE__);    \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

struct Branch {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float3* force = nullptr;

  explicit Branch(int atoms) {
    MD_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MD_CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    MD_CHECK(cudaMalloc(reinterpret_cast<void**>(&force), atoms * sizeof(float3)));
  }
  ~Branch() {
    cudaStreamSynchronize(stream);
    cudaFree(force);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;
};

__global__ void bondedForces(const float3* x, float3* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 a = x[i], b = x[(i + 1) % n];
  f[i] = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
}

__global__ void pairForces(const float3* x, float3* f, int n, int neighbours) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 s = make_float3(0, 0, 0);
  for (int k = 1; k <= neighbours; ++k) {
    float3 b = x[(i + k) % n];
    float w = 1.f / (1.f + k);
    s.x += w * (b.x - x[i].x);
    s.y += w * (b.y - x[i].y);
    s.z += w * (b.z - x[i].z);
  }
  f[i] = s;
}

__global__ void meshForces(const float3* x, float3* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f[i] = make_float3(-0.1f * x[i].x, -0.1f * x[i].y, -0.1f * x[i].z);
}

__global__ void integrate(float3* x, const float3* fa, const float3* fb, const float3* fc, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i].x += dt * (fa[i].x + fb[i].x + fc[i].x);
  x[i].y += dt * (fa[i].y + fb[i].y + fc[i].y);
  x[i].z += dt * (fa[i].z + fb[i].z + fc[i].z);
}

class ForceField {
 public:
  explicit ForceField(int atoms) : n_(atoms), bonded_(atoms), pairs_(atoms), mesh_(atoms) {
    MD_CHECK(cudaEventCreateWithFlags(&positions_, cudaEventDisableTiming));
  }
  ~ForceField() { cudaEventDestroy(positions_); }

  void fork(const float3* x, cudaStream_t main) {
    const int grid = (n_ + 127) / 128;
    MD_CHECK(cudaEventRecord(positions_, main));
    for (Branch* b : {&bonded_, &pairs_, &mesh_}) MD_CHECK(cudaStreamWaitEvent(b->stream, positions_, 0));
    bondedForces<<<grid, 128, 0, bonded_.stream>>>(x, bonded_.force, n_);
    pairForces<<<grid, 128, 0, pairs_.stream>>>(x, pairs_.force, n_, 64);
    meshForces<<<grid, 128, 0, mesh_.stream>>>(x, mesh_.force, n_);
    MD_CHECK(cudaGetLastError());
    MD_CHECK(cudaEventRecord(bonded_.done, bonded_.stream));
    MD_CHECK(cudaEventRecord(pairs_.done, pairs_.stream));
    MD_CHECK(cudaEventRecord(mesh_.done, mesh_.stream));
  }

  void join(cudaStream_t main) {
    MD_CHECK(cudaStreamWaitEvent(main, bonded_.done, 0));
    MD_CHECK(cudaStreamWaitEvent(main, pairs_.done, 0));
    MD_CHECK(cudaStreamWaitEvent(main, mesh_.done, 0));
  }

  void advance(float3* x, float dt, cudaStream_t main) {
    integrate<<<(n_ + 127) / 128, 128, 0, main>>>(x, bonded_.force, pairs_.force, mesh_.force, n_, dt);
    MD_CHECK(cudaGetLastError());
  }

 private:
  int n_;
  Branch bonded_;
  Branch pairs_;
  Branch mesh_;
  cudaEvent_t positions_ = nullptr;
};

int main() {
  const int atoms = 1 << 18;
  cudaStream_t main = nullptr;
  float3* x = nullptr;
  MD_CHECK(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
  MD_CHECK(cudaMalloc(reinterpret_cast<void**>(&x), atoms * sizeof(float3)));
  MD_CHECK(cudaMemsetAsync(x, 0, atoms * sizeof(float3), main));
  {
    ForceField ff(atoms);
    for (int step = 0; step < 1000; ++step) {
      ff.fork(x, main);
      ff.join(main);
      ff.advance(x, 0.002f, main);
    }
    MD_CHECK(cudaStreamSynchronize(main));
  }
  MD_CHECK(cudaFree(x));
  MD_CHECK(cudaStreamDestroy(main));
  return 0;
}
