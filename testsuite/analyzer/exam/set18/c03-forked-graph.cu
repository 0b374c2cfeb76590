// One step of a controller captured as a graph with two parallel branches. The
// host refreshes the pinned set-points between replays.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define GRAPH_OK(x)                                                         \
  do {                                                                      \
    cudaError_t r_ = (x);                                                   \
    if (r_ != cudaSuccess) {                                                \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(r_)); \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

__global__ void predict(const float* state, float* predicted, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) predicted[i] = state[i] + dt * sinf(state[i]);
}

__global__ void weigh(const float* setPoint, float* weight, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weight[i] = 1.0f / (1.0f + fabsf(setPoint[i]));
}

__global__ void correct(float* state, const float* predicted, const float* setPoint, const float* weight, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) state[i] = predicted[i] + weight[i] * (setPoint[i] - predicted[i]);
}

class Controller {
 public:
  explicit Controller(int n) : n_(n) {
    GRAPH_OK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    for (float** p : {&state_, &predicted_, &setPoint_, &weight_}) GRAPH_OK(cudaMalloc(p, bytes()));
    for (float** p : {&hostSetPoint_, &hostState_}) GRAPH_OK(cudaMallocHost(p, bytes()));
    GRAPH_OK(cudaMemsetAsync(state_, 0, bytes(), main_));
    record();
  }
  ~Controller() {
    cudaStreamSynchronize(main_);
    cudaGraphExecDestroy(exec_);
    for (float* p : {hostSetPoint_, hostState_}) cudaFreeHost(p);
    for (float* p : {state_, predicted_, setPoint_, weight_}) cudaFree(p);
    cudaStreamDestroy(main_);
  }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Runs one control period and returns the first state variable.
  float period(float target) {
    for (int i = 0; i < n_; ++i) hostSetPoint_[i] = target + 0.001f * i;
    GRAPH_OK(cudaGraphLaunch(exec_, main_));
    GRAPH_OK(cudaStreamSynchronize(main_));
    return hostState_[0];
  }

 private:
  size_t bytes() const { return sizeof(float) * n_; }
  int grid() const { return (n_ + 127) / 128; }

  // The side stream and both events are needed during capture only: they turn
  // into edges of the graph.
  void record() {
    cudaStream_t side;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    GRAPH_OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    GRAPH_OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    GRAPH_OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    GRAPH_OK(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal));
    GRAPH_OK(cudaEventRecord(fork, main_));
    GRAPH_OK(cudaStreamWaitEvent(side, fork, 0));
    sideBranch(side);
    GRAPH_OK(cudaEventRecord(join, side));
    predict<<<grid(), 128, 0, main_>>>(state_, predicted_, n_, 0.01f);
    GRAPH_OK(cudaStreamWaitEvent(main_, join, 0));
    correct<<<grid(), 128, 0, main_>>>(state_, predicted_, setPoint_, weight_, n_);
    GRAPH_OK(cudaMemcpyAsync(hostState_, state_, bytes(), cudaMemcpyDeviceToHost, main_));
    GRAPH_OK(cudaStreamEndCapture(main_, &graph));

    GRAPH_OK(cudaGraphInstantiate(&exec_, graph, 0));
    GRAPH_OK(cudaGraphDestroy(graph));
    GRAPH_OK(cudaEventDestroy(join));
    GRAPH_OK(cudaEventDestroy(fork));
    GRAPH_OK(cudaStreamDestroy(side));
  }

  void sideBranch(cudaStream_t s) {
    GRAPH_OK(cudaMemcpyAsync(setPoint_, hostSetPoint_, bytes(), cudaMemcpyHostToDevice, s));
    weigh<<<grid(), 128, 0, s>>>(setPoint_, weight_, n_);
  }

  int n_;
  cudaStream_t main_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float *state_ = nullptr, *predicted_ = nullptr, *setPoint_ = nullptr, *weight_ = nullptr;
  float *hostSetPoint_ = nullptr, *hostState_ = nullptr;
};

int main() {
  Controller controller(4096);
  float y = 0.0f;
  for (int k = 0; k < 500; ++k) y = controller.period(std::sin(0.01f * k));
  std::printf("state %f\n", y);
  return 0;
}
