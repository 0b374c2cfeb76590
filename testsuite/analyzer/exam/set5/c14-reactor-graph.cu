// Core simulation step as an explicitly built graph: two half cores, coupled by the coolant.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace core {

inline void req(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define REQ(x) ::core::req((x), __LINE__)

__global__ void heat_up(float* temp, const float* power, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) temp[i] += 0.01f * power[i];
}
__global__ void cool(float* temp, float* coolant, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float q = 0.1f * (temp[i] - coolant[0]);
  temp[i] -= q;
}
__global__ void mix(const float* temp, float* coolant, int n) {
  float acc = 0.f;
  for (int i = 0; i < n; i += 64) acc += temp[i];
  coolant[0] = 0.9f * coolant[0] + 0.1f * acc / float(n / 64);
}

class Step {
 public:
  Step(float* temp, float* power, float* coolant, int n) : temp_(temp), power_(power), coolant_(coolant), n_(n) {
    REQ(cudaMallocHost(&report_, sizeof(float)));
    REQ(cudaGraphCreate(&graph_, 0));
    cudaGraphNode_t heated[2], cooled[2];
    const int half = n / 2;
    for (int h = 0; h < 2; ++h) {
      heated[h] = heat(h * half, half);
      cooled[h] = cooling(h * half, half, heated[h]);
    }
    cudaGraphNode_t mixed = mixing({cooled[0], cooled[1]});
    cudaGraphNode_t copy;
    REQ(cudaGraphAddMemcpyNode1D(&copy, graph_, &mixed, 1, report_, coolant_, sizeof(float), cudaMemcpyDeviceToHost));
    REQ(cudaGraphInstantiate(&exec_, graph_, 0));
  }
  ~Step() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
    cudaFreeHost(report_);
  }
  Step(const Step&) = delete;

  float operator()(cudaStream_t s) {
    REQ(cudaGraphLaunch(exec_, s));
    REQ(cudaStreamSynchronize(s));
    return *report_;
  }

 private:
  cudaGraphNode_t add(void* fn, unsigned blocks, unsigned threads, void** args, const std::vector<cudaGraphNode_t>& deps) {
    cudaKernelNodeParams p{};
    p.func = fn;
    p.gridDim = dim3(blocks);
    p.blockDim = dim3(threads);
    p.kernelParams = args;
    cudaGraphNode_t node;
    REQ(cudaGraphAddKernelNode(&node, graph_, deps.data(), deps.size(), &p));
    return node;
  }
  cudaGraphNode_t heat(int at, int n) {
    float* t = temp_ + at;
    float* p = power_ + at;
    void* args[] = {&t, &p, &n};
    return add((void*)heat_up, unsigned(n + 127) / 128, 128, args, {});
  }
  cudaGraphNode_t cooling(int at, int n, cudaGraphNode_t after) {
    float* t = temp_ + at;
    void* args[] = {&t, &coolant_, &n};
    return add((void*)cool, unsigned(n + 127) / 128, 128, args, {after});
  }
  cudaGraphNode_t mixing(const std::vector<cudaGraphNode_t>& after) {
    void* args[] = {&temp_, &coolant_, &n_};
    return add((void*)mix, 1, 1, args, after);
  }

  float *temp_, *power_, *coolant_;
  int n_;
  float* report_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace core

int main() {
  const int n = 1 << 18;
  float *temp, *power, *coolant;
  REQ(cudaMalloc((void**)&temp, n * sizeof(float)));
  REQ(cudaMalloc((void**)&power, n * sizeof(float)));
  REQ(cudaMalloc((void**)&coolant, sizeof(float)));
  cudaStream_t s;
  REQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  REQ(cudaMemsetAsync(temp, 0, n * sizeof(float), s));
  REQ(cudaMemsetAsync(power, 0x3f, n * sizeof(float), s));
  REQ(cudaMemsetAsync(coolant, 0, sizeof(float), s));
  {
    core::Step step(temp, power, coolant, n);
    for (int t = 0; t < 200; ++t) {
      float c = step(s);
      if (t % 50 == 0) std::printf("%d %f\n", t, c);
    }
  }
  REQ(cudaStreamDestroy(s));
  REQ(cudaFree(temp));
  REQ(cudaFree(power));
  REQ(cudaFree(coolant));
}
