// Decoupled power-flow sweep: P and Q half-steps as independent graph branches that meet in one node.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define GRID_CHECK(x)                                                    \
  do {                                                                   \
    cudaError_t e_ = (x);                                                \
    if (e_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));      \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

struct Bus { float p, q, g, b; };

__global__ void angle_step(const Bus* bus, const float* v, float* theta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) theta[i] += 0.1f * (bus[i].p - v[i] * v[i] * bus[i].g) / (1.f + fabsf(bus[i].b));
}

__global__ void voltage_step(const Bus* bus, const float* v, float* dv, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dv[i] = 0.1f * (bus[i].q + v[i] * v[i] * bus[i].b);
}

__global__ void combine(float* v, const float* dv, const float* theta, float* mismatch, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  v[i] += dv[i];
  mismatch[i] = fabsf(dv[i]) + 1e-3f * fabsf(theta[i]);
}

struct Sweep {
  int n;
  Bus* bus;
  float *v, *theta, *dv, *mismatch;
  float* mismatch_host;  // pinned
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStream_t stream;
};

template <size_t N>
static cudaGraphNode_t kernel_node(Sweep& s, void* fn, void* (&args)[N], const std::vector<cudaGraphNode_t>& deps) {
  cudaKernelNodeParams p{};
  p.func = fn;
  p.gridDim = dim3((s.n + 255) / 256);
  p.blockDim = dim3(256);
  p.kernelParams = args;
  cudaGraphNode_t node;
  GRID_CHECK(cudaGraphAddKernelNode(&node, s.graph, deps.data(), deps.size(), &p));
  return node;
}

static void build(Sweep& s) {
  GRID_CHECK(cudaGraphCreate(&s.graph, 0));
  void* pa[] = {&s.bus, &s.v, &s.theta, &s.n};
  void* qa[] = {&s.bus, &s.v, &s.dv, &s.n};
  void* ca[] = {&s.v, &s.dv, &s.theta, &s.mismatch, &s.n};
  cudaGraphNode_t p = kernel_node(s, (void*)angle_step, pa, {});
  cudaGraphNode_t q = kernel_node(s, (void*)voltage_step, qa, {});
  cudaGraphNode_t c = kernel_node(s, (void*)combine, ca, {p, q});
  cudaGraphNode_t d2h;
  GRID_CHECK(cudaGraphAddMemcpyNode1D(&d2h, s.graph, &c, 1, s.mismatch_host, s.mismatch, sizeof(float) * s.n, cudaMemcpyDeviceToHost));
  GRID_CHECK(cudaGraphInstantiate(&s.exec, s.graph, 0));
}

static void init(Sweep& s, const std::vector<Bus>& net) {
  s.n = static_cast<int>(net.size());
  size_t fb = sizeof(float) * s.n;
  GRID_CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  GRID_CHECK(cudaMalloc(&s.bus, sizeof(Bus) * s.n));
  for (float** f : {&s.v, &s.theta, &s.dv, &s.mismatch}) {
    GRID_CHECK(cudaMalloc(f, fb));
    GRID_CHECK(cudaMemsetAsync(*f, 0, fb, s.stream));
  }
  GRID_CHECK(cudaMallocHost(&s.mismatch_host, fb));
  GRID_CHECK(cudaMemcpyAsync(s.bus, net.data(), sizeof(Bus) * s.n, cudaMemcpyHostToDevice, s.stream));
  GRID_CHECK(cudaStreamSynchronize(s.stream));
  build(s);
}

static float sweep(Sweep& s, int inner) {
  for (int k = 0; k < inner; ++k) GRID_CHECK(cudaGraphLaunch(s.exec, s.stream));
  GRID_CHECK(cudaStreamSynchronize(s.stream));
  float worst = 0.f;
  for (int i = 0; i < s.n; ++i) worst = s.mismatch_host[i] > worst ? s.mismatch_host[i] : worst;
  return worst;
}

static void destroy(Sweep& s) {
  GRID_CHECK(cudaStreamSynchronize(s.stream));
  cudaGraphExecDestroy(s.exec);
  cudaGraphDestroy(s.graph);
  for (float* f : {s.v, s.theta, s.dv, s.mismatch}) cudaFree(f);
  cudaFree(s.bus);
  cudaFreeHost(s.mismatch_host);
  cudaStreamDestroy(s.stream);
}

int main() {
  Sweep s{};
  init(s, std::vector<Bus>(100000, Bus{0.3f, 0.1f, 0.02f, -0.4f}));
  for (int it = 0; it < 30; ++it) {
    float m = sweep(s, 5);
    std::printf("sweep %d mismatch %g\n", it, m);
    if (m < 1e-5f) break;
  }
  destroy(s);
}
