// Two instantiated graphs take turns, so that the host can prepare the parameters of one while the
// other runs. Inside a graph the work forks to a second stream and joins again.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define OK(x)                                                                      \
  do {                                                                             \
    cudaError_t r = (x);                                                           \
    if (r != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(r));           \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

struct Pose {
  float c, s, tx, ty;
};

constexpr int kPoints = 1 << 18;

__global__ void makeCloud(float2* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPoints) p[i] = make_float2((i % 512) * 0.01f, (i / 512) * 0.01f);
}

__global__ void transformX(const float2* in, const Pose* pose, float* x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPoints) x[i] = pose->c * in[i].x - pose->s * in[i].y + pose->tx;
}

__global__ void transformY(const float2* in, const Pose* pose, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPoints) y[i] = pose->s * in[i].x + pose->c * in[i].y + pose->ty;
}

__global__ void countInside(const float* x, const float* y, int* count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPoints && x[i] * x[i] + y[i] * y[i] < 1.f) atomicAdd(count, 1);
}

class Turn {
 public:
  // The device buffers are shared by all turns, which therefore must be launched on one stream.
  void build(cudaStream_t main, cudaStream_t side, const float2* cloud, Pose* pose, float* x, float* y, int* count) {
    OK(cudaMallocHost(&hostPose_, sizeof(Pose)));
    OK(cudaMallocHost(&hostCount_, sizeof(int)));
    OK(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    cudaEvent_t fork = nullptr, join = nullptr;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(pose, hostPose_, sizeof(Pose), cudaMemcpyHostToDevice, main));
    OK(cudaEventRecord(fork, main));
    OK(cudaStreamWaitEvent(side, fork, 0));
    transformX<<<kPoints / 256, 256, 0, main>>>(cloud, pose, x);
    transformY<<<kPoints / 256, 256, 0, side>>>(cloud, pose, y);
    OK(cudaEventRecord(join, side));
    OK(cudaMemsetAsync(count, 0, sizeof(int), main));
    OK(cudaStreamWaitEvent(main, join, 0));
    countInside<<<kPoints / 256, 256, 0, main>>>(x, y, count);
    OK(cudaMemcpyAsync(hostCount_, count, sizeof(int), cudaMemcpyDeviceToHost, main));
    OK(cudaStreamEndCapture(main, &graph));
    OK(cudaGraphInstantiate(&exec_, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
  }

  // Result of the previous launch, -1 before the first one.
  int collect() {
    if (!launched_) return -1;
    OK(cudaEventSynchronize(done_));
    return *hostCount_;
  }

  // Only after collect().
  void launch(const Pose& p, cudaStream_t stream) {
    *hostPose_ = p;
    OK(cudaGraphLaunch(exec_, stream));
    OK(cudaEventRecord(done_, stream));
    launched_ = true;
  }

  void destroy() {
    if (launched_) OK(cudaEventSynchronize(done_));
    OK(cudaGraphExecDestroy(exec_));
    OK(cudaEventDestroy(done_));
    OK(cudaFreeHost(hostPose_));
    OK(cudaFreeHost(hostCount_));
  }

 private:
  Pose* hostPose_ = nullptr;
  int* hostCount_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  cudaEvent_t done_ = nullptr;
  bool launched_ = false;
};

int main() {
  cudaStream_t main = nullptr, side = nullptr;
  OK(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  float2* cloud = nullptr;
  float *x = nullptr, *y = nullptr;
  Pose* pose = nullptr;
  int* count = nullptr;
  OK(cudaMalloc(&cloud, kPoints * sizeof(float2)));
  OK(cudaMalloc(&x, kPoints * sizeof(float)));
  OK(cudaMalloc(&y, kPoints * sizeof(float)));
  OK(cudaMalloc(&pose, sizeof(Pose)));
  OK(cudaMalloc(&count, sizeof(int)));
  makeCloud<<<kPoints / 256, 256, 0, main>>>(cloud);

  Turn turns[2];
  for (Turn& t : turns) t.build(main, side, cloud, pose, x, y, count);

  long best = -1;
  for (int i = 0; i < 1000; ++i) {
    Turn& t = turns[i & 1];
    const int inside = t.collect();
    if (inside > best) best = inside;
    const float a = i * 0.01f;
    t.launch({std::cos(a), std::sin(a), -2.f + i * 0.002f, -1.f}, main);
  }
  for (Turn& t : turns) {
    const int inside = t.collect();
    if (inside > best) best = inside;
  }
  std::printf("best overlap %ld\n", best);

  for (Turn& t : turns) t.destroy();
  OK(cudaStreamSynchronize(main));
  for (void* p : {static_cast<void*>(cloud), static_cast<void*>(x), static_cast<void*>(y), static_cast<void*>(pose),
                  static_cast<void*>(count)})
    OK(cudaFree(p));
  OK(cudaStreamDestroy(main));
  OK(cudaStreamDestroy(side));
  return 0;
}
