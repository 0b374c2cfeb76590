// A decode step captured once (with a forked branch) and replayed for every token.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

#define CK(stmt)                                                                         \
  do {                                                                                   \
    cudaError_t st = (stmt);                                                             \
    if (st != cudaSuccess) { std::printf("%s failed: %s\n", #stmt, cudaGetErrorString(st)); std::exit(1); } \
  } while (0)

__global__ void embed(const int* token, float* x, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < dim) x[i] = 0.001f * (*token + i);
}
__global__ void branch_gate(const float* x, float* g, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < dim) g[i] = x[i] > 0 ? x[i] : 0;
}
__global__ void branch_up(const float* x, float* u, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < dim) u[i] = 2 * x[i] + 1;
}
__global__ void argmax_mix(const float* g, const float* u, int* next, int dim) {
  if (threadIdx.x == 0) {
    int best = 0;
    float bv = g[0] * u[0];
    for (int i = 1; i < dim; ++i)
      if (g[i] * u[i] > bv) { bv = g[i] * u[i]; best = i; }
    *next = best;
  }
}

class GraphDecoder {
 public:
  explicit GraphDecoder(int dim) : dim_(dim) {
    CK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    for (float** p : {&x_, &gate_, &up_}) CK(cudaMalloc(p, dim * sizeof(float)));
    CK(cudaMalloc(&token_, sizeof(int)));
    CK(cudaMalloc(&next_, sizeof(int)));
    CK(cudaHostAlloc(&io_, 2 * sizeof(int), cudaHostAllocDefault));
    CK(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    capture();
  }
  ~GraphDecoder() {
    cudaStreamSynchronize(main_);
    cudaGraphExecDestroy(exec_);
    for (float* p : {x_, gate_, up_}) cudaFree(p);
    cudaFree(token_);
    cudaFree(next_);
    cudaFreeHost(io_);
    for (cudaEvent_t e : {fork_, join_, done_}) cudaEventDestroy(e);
    cudaStreamDestroy(side_);
    cudaStreamDestroy(main_);
  }
  GraphDecoder(const GraphDecoder&) = delete;

  void submit(int token) {
    CK(cudaEventSynchronize(done_));  // the previous step still reads io_
    io_[0] = token;
    CK(cudaGraphLaunch(exec_, main_));
    CK(cudaEventRecord(done_, main_));
  }
  int wait() {
    CK(cudaEventSynchronize(done_));
    return io_[1];
  }

 private:
  void capture() {
    cudaGraph_t graph;
    const int blocks = (dim_ + 127) / 128;
    CK(cudaStreamBeginCapture(main_, cudaStreamCaptureModeGlobal));
    CK(cudaMemcpyAsync(token_, &io_[0], sizeof(int), cudaMemcpyHostToDevice, main_));
    embed<<<blocks, 128, 0, main_>>>(token_, x_, dim_);
    CK(cudaEventRecord(fork_, main_));
    CK(cudaStreamWaitEvent(side_, fork_, 0));
    branch_gate<<<blocks, 128, 0, main_>>>(x_, gate_, dim_);
    branch_up<<<blocks, 128, 0, side_>>>(x_, up_, dim_);
    CK(cudaEventRecord(join_, side_));
    CK(cudaStreamWaitEvent(main_, join_, 0));
    argmax_mix<<<1, 32, 0, main_>>>(gate_, up_, next_, dim_);
    CK(cudaMemcpyAsync(&io_[1], next_, sizeof(int), cudaMemcpyDeviceToHost, main_));
    CK(cudaStreamEndCapture(main_, &graph));
    CK(cudaGraphInstantiate(&exec_, graph, 0));
    CK(cudaGraphDestroy(graph));
  }

  int dim_;
  cudaStream_t main_{}, side_{};
  float *x_{}, *gate_{}, *up_{};
  int *token_{}, *next_{}, *io_{};
  cudaEvent_t fork_{}, join_{}, done_{};
  cudaGraphExec_t exec_{};
};

int main() {
  GraphDecoder dec(4096);
  int token = 1;
  for (int i = 0; i < 16; ++i) {
    dec.submit(token);
    token = dec.wait();
    std::printf("%d ", token);
  }
  std::printf("\n");
}
