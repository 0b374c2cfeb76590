// Potential of a star cluster: near field by direct sums, far field on a mesh. Both add into one array.
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace nbody {

inline void must(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}

struct Particles {
  const float4* posMass;
  float* potential;
  int count;
};

struct Context {
  cudaStream_t main{};
  cudaStream_t far{};
  cudaEvent_t begin{};
  cudaEvent_t farDone{};

  Context() {
    must(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking), "main stream");
    must(cudaStreamCreateWithFlags(&far, cudaStreamNonBlocking), "far stream");
    must(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming), "event");
    must(cudaEventCreateWithFlags(&farDone, cudaEventDisableTiming), "event");
  }
  ~Context() {
    cudaStreamSynchronize(far);
    cudaStreamSynchronize(main);
    cudaEventDestroy(begin);
    cudaEventDestroy(farDone);
    cudaStreamDestroy(far);
    cudaStreamDestroy(main);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

__global__ void nearField(const float4* posMass, float* potential, int n, int window) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = posMass[i];
  float phi = 0.f;
  for (int j = max(0, i - window); j < min(n, i + window + 1); ++j) {
    if (j == i) continue;
    float4 b = posMass[j];
    float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    phi -= b.w * rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
  }
  potential[i] += phi;
}

__global__ void depositMass(const float4* posMass, float* mesh, int n, int edge) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = min(edge - 1, max(0, int(posMass[i].x * edge)));
  atomicAdd(&mesh[x], posMass[i].w);
}

__global__ void meshField(const float4* posMass, const float* mesh, float* potential, int n, int edge) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float phi = 0.f;
  for (int c = 0; c < edge; ++c) phi -= mesh[c] / (fabsf(posMass[i].x - (c + 0.5f) / edge) + 0.1f);
  potential[i] += phi;
}

inline dim3 blocksFor(int n) { return dim3((n + 127) / 128); }

class NearSolver {
 public:
  explicit NearSolver(int window) : window_(window) {}
  void addTo(Context& ctx, const Particles& p) {
    nearField<<<blocksFor(p.count), 128, 0, ctx.main>>>(p.posMass, p.potential, p.count, window_);
    must(cudaGetLastError(), "near field");
  }

 private:
  int window_;
};

class MeshSolver {
 public:
  explicit MeshSolver(int edge) : edge_(edge) { must(cudaMalloc(&mesh_, edge * sizeof(float)), "mesh"); }
  ~MeshSolver() {
    cudaDeviceSynchronize();
    cudaFree(mesh_);
  }
  MeshSolver(const MeshSolver&) = delete;
  MeshSolver& operator=(const MeshSolver&) = delete;

  void addTo(Context& ctx, const Particles& p) {
    must(cudaMemsetAsync(mesh_, 0, edge_ * sizeof(float), ctx.far), "clear mesh");
    depositMass<<<blocksFor(p.count), 128, 0, ctx.far>>>(p.posMass, mesh_, p.count, edge_);
    meshField<<<blocksFor(p.count), 128, 0, ctx.far>>>(p.posMass, mesh_, p.potential, p.count, edge_);
    must(cudaGetLastError(), "mesh field");
  }

 private:
  int edge_;
  float* mesh_ = nullptr;
};

template <class Far, class Near>
class PotentialSolver {
 public:
  PotentialSolver(int meshEdge, int window) : far_(meshEdge), near_(window) {}

  /// Fills p.potential in the order of ctx.main.
  void evaluate(Context& ctx, const Particles& p) {
    must(cudaMemsetAsync(p.potential, 0, p.count * sizeof(float), ctx.main), "clear potential");
    split(ctx);
    far_.addTo(ctx, p);
    join(ctx);
    near_.addTo(ctx, p);
  }

 private:
  void split(Context& ctx) {
    must(cudaEventRecord(ctx.begin, ctx.main), "record");
    must(cudaStreamWaitEvent(ctx.far, ctx.begin, 0), "wait");
  }
  void join(Context& ctx) {
    must(cudaEventRecord(ctx.farDone, ctx.far), "record");
    must(cudaStreamWaitEvent(ctx.main, ctx.farDone, 0), "wait");
  }

  Far far_;
  Near near_;
};

using ClusterPotential = PotentialSolver<MeshSolver, NearSolver>;

void clusterPotential(const float4* posMass, float* hostPotential, int count) {
  Context ctx;
  ClusterPotential solver(512, 64);
  float* potential = nullptr;
  must(cudaMallocAsync(reinterpret_cast<void**>(&potential), count * sizeof(float), ctx.main), "potential");
  solver.evaluate(ctx, Particles{posMass, potential, count});
  must(cudaMemcpyAsync(hostPotential, potential, count * sizeof(float), cudaMemcpyDeviceToHost, ctx.main), "copy back");
  must(cudaFreeAsync(potential, ctx.main), "free");
  must(cudaStreamSynchronize(ctx.main), "sync");
}

}  // namespace nbody
