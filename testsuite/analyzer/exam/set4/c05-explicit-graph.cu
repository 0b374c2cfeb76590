// Iterative closest point: one alignment step as an explicitly built graph.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#define CHECKED(x)                                                       \
  do {                                                                   \
    const cudaError_t c_ = (x);                                          \
    if (c_ != cudaSuccess) {                                             \
      std::fprintf(stderr, #x " failed: %s\n", cudaGetErrorString(c_));  \
      std::exit(2);                                                      \
    }                                                                    \
  } while (0)

namespace icp {

struct Pose {
  float tx, ty, tz;
};

__global__ void moveCloud(const float3* in, float3* out, const Pose* pose, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float3(in[i].x + pose->tx, in[i].y + pose->ty, in[i].z + pose->tz);
}
__global__ void residualX(const float3* a, const float3* b, float* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&acc[0], (b[i].x - a[i].x) / n);
}
__global__ void residualY(const float3* a, const float3* b, float* acc, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&acc[1], (b[i].y - a[i].y) / n);
}
__global__ void correctPose(Pose* pose, const float* acc) {
  pose->tx += acc[0];
  pose->ty += acc[1];
}

class GraphBuilder {
 public:
  using Deps = std::initializer_list<cudaGraphNode_t>;
  GraphBuilder() { CHECKED(cudaGraphCreate(&g_, 0)); }
  ~GraphBuilder() { cudaGraphDestroy(g_); }

  template <typename... P>
  cudaGraphNode_t kernel(Deps deps, void (*fn)(P...), int grid, int block, P... args) {
    void* ptrs[] = {&args...};
    cudaKernelNodeParams p{};
    p.func = reinterpret_cast<void*>(fn);
    p.gridDim = dim3(grid);
    p.blockDim = dim3(block);
    p.kernelParams = ptrs;
    cudaGraphNode_t node;
    CHECKED(cudaGraphAddKernelNode(&node, g_, deps.begin(), deps.size(), &p));
    return node;
  }
  cudaGraphNode_t copy(Deps deps, void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
    cudaGraphNode_t node;
    CHECKED(cudaGraphAddMemcpyNode1D(&node, g_, deps.begin(), deps.size(), dst, src, bytes, kind));
    return node;
  }
  cudaGraphNode_t zero(Deps deps, void* dst, size_t bytes) {
    cudaMemsetParams p{};
    p.dst = dst;
    p.elementSize = 1;
    p.width = bytes;
    p.height = 1;
    cudaGraphNode_t node;
    CHECKED(cudaGraphAddMemsetNode(&node, g_, deps.begin(), deps.size(), &p));
    return node;
  }
  cudaGraphExec_t build() {
    cudaGraphExec_t e;
    CHECKED(cudaGraphInstantiate(&e, g_, 0));
    return e;
  }

 private:
  cudaGraph_t g_{};
};

class Aligner {
 public:
  explicit Aligner(int n) : n_(n) {
    CHECKED(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    for (float3** p : {&source_, &target_, &moved_}) CHECKED(cudaMalloc(p, n_ * sizeof(float3)));
    CHECKED(cudaMalloc(&pose_, sizeof(Pose)));
    CHECKED(cudaMalloc(&acc_, 2 * sizeof(float)));
    CHECKED(cudaMallocHost(&scan_, n_ * sizeof(float3)));
    CHECKED(cudaMallocHost(&result_, sizeof(Pose)));
    CHECKED(cudaMemsetAsync(target_, 0, n_ * sizeof(float3), s_));
    CHECKED(cudaMemsetAsync(pose_, 0, sizeof(Pose), s_));
    exec_ = describe();
  }
  ~Aligner() {
    cudaStreamSynchronize(s_);
    cudaGraphExecDestroy(exec_);
    for (float3* p : {source_, target_, moved_}) cudaFree(p);
    cudaFree(pose_);
    cudaFree(acc_);
    cudaFreeHost(scan_);
    cudaFreeHost(result_);
    cudaStreamDestroy(s_);
  }

  Pose align(const std::vector<float3>& scan) {
    std::memcpy(scan_, scan.data(), n_ * sizeof(float3));
    CHECKED(cudaGraphLaunch(exec_, s_));
    CHECKED(cudaStreamSynchronize(s_));
    return *result_;
  }

 private:
  cudaGraphExec_t describe() {
    GraphBuilder b;
    const int grid = (n_ + 127) / 128;
    auto upload = b.copy({}, source_, scan_, n_ * sizeof(float3), cudaMemcpyHostToDevice);
    auto clear = b.zero({}, acc_, 2 * sizeof(float));
    auto move = b.kernel<const float3*, float3*, const Pose*, int>({upload}, moveCloud, grid, 128, source_, moved_, pose_, n_);
    auto rx = b.kernel<const float3*, const float3*, float*, int>({move, clear}, residualX, grid, 128, moved_, target_, acc_, n_);
    auto ry = b.kernel<const float3*, const float3*, float*, int>({move, clear}, residualY, grid, 128, moved_, target_, acc_, n_);
    auto fix = b.kernel<Pose*, const float*>({rx, ry}, correctPose, 1, 1, pose_, acc_);
    b.copy({fix}, result_, pose_, sizeof(Pose), cudaMemcpyDeviceToHost);
    return b.build();
  }

  int n_;
  cudaStream_t s_{};
  cudaGraphExec_t exec_{};
  float3 *source_{}, *target_{}, *moved_{}, *scan_{};
  Pose *pose_{}, *result_{};
  float* acc_{};
};

}  // namespace icp

int main() {
  icp::Aligner a(200000);
  std::vector<float3> scan(200000, make_float3(0.3f, -0.2f, 0.f));
  icp::Pose p{};
  for (int i = 0; i < 30; ++i) p = a.align(scan);
  std::printf("%g %g\n", p.tx, p.ty);
}
