// kite-autopilot: one control step (estimate, two candidate plans, choice) as a
// captured graph with a fork and a join, replayed with fresh sensor readings.

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

static void good(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "kite:%d: %s\n", line, cudaGetErrorString(rc));
    std::exit(1);
  }
}
#define GOOD(x) good((x), __LINE__)

constexpr int kReadings = 64;
constexpr int kActions = 8;

__global__ void estimate(const float* readings, float* state) {
  const int i = threadIdx.x;
  if (i < kReadings) state[i] = 0.8f * state[i] + 0.2f * readings[i];
}

__global__ void plan(const float* state, float* actions, float bias) {
  const int a = threadIdx.x;
  if (a >= kActions) return;
  float acc = bias;
  for (int i = 0; i < kReadings; ++i) acc += state[i] * __cosf(static_cast<float>(a * i));
  actions[a] = acc;
}

__global__ void choose(const float* calm, const float* bold, float* chosen) {
  const int a = threadIdx.x;
  if (a < kActions) chosen[a] = fabsf(calm[a]) < fabsf(bold[a]) ? calm[a] : bold[a];
}

class Autopilot {
 public:
  Autopilot() {
    GOOD(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GOOD(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    GOOD(cudaMallocHost(&readings_, kReadings * sizeof(float)));
    GOOD(cudaMallocHost(&command_, kActions * sizeof(float)));
    GOOD(cudaMalloc(&arena_, (2 * kReadings + 3 * kActions) * sizeof(float)));
    GOOD(cudaMemsetAsync(arena_, 0, (2 * kReadings + 3 * kActions) * sizeof(float), stream_));
    capture();
  }
  ~Autopilot() {
    GOOD(cudaStreamSynchronize(stream_));
    GOOD(cudaGraphExecDestroy(step_));
    GOOD(cudaFree(arena_));
    GOOD(cudaFreeHost(readings_));
    GOOD(cudaFreeHost(command_));
    GOOD(cudaEventDestroy(stepped_));
    GOOD(cudaStreamDestroy(stream_));
  }
  Autopilot(const Autopilot&) = delete;
  Autopilot& operator=(const Autopilot&) = delete;

  // Starts a step; the readings are refilled once the step before is over.
  void begin(float wind) {
    GOOD(cudaEventSynchronize(stepped_));
    for (int i = 0; i < kReadings; ++i) readings_[i] = wind * std::sin(0.1f * static_cast<float>(i));
    GOOD(cudaGraphLaunch(step_, stream_));
    GOOD(cudaEventRecord(stepped_, stream_));
  }

  const float* command() {
    GOOD(cudaEventSynchronize(stepped_));
    return command_;
  }

 private:
  void capture() {
    float* input = arena_;
    float* state = input + kReadings;
    float* calm = state + kReadings;
    float* bold = calm + kActions;
    float* chosen = bold + kActions;

    cudaStream_t side;
    cudaEvent_t fork, join;
    GOOD(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    GOOD(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    GOOD(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));

    cudaGraph_t graph;
    GOOD(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    GOOD(cudaMemcpyAsync(input, readings_, kReadings * sizeof(float), cudaMemcpyHostToDevice, stream_));
    estimate<<<1, kReadings, 0, stream_>>>(input, state);
    GOOD(cudaEventRecord(fork, stream_));
    GOOD(cudaStreamWaitEvent(side, fork, 0));
    plan<<<1, 32, 0, side>>>(state, bold, 0.5f);
    GOOD(cudaEventRecord(join, side));
    plan<<<1, 32, 0, stream_>>>(state, calm, 0.1f);
    GOOD(cudaStreamWaitEvent(stream_, join, 0));
    choose<<<1, 32, 0, stream_>>>(calm, bold, chosen);
    GOOD(cudaMemcpyAsync(command_, chosen, kActions * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    GOOD(cudaStreamEndCapture(stream_, &graph));
    GOOD(cudaGraphInstantiate(&step_, graph, 0));

    GOOD(cudaGraphDestroy(graph));
    GOOD(cudaEventDestroy(fork));
    GOOD(cudaEventDestroy(join));
    GOOD(cudaStreamDestroy(side));
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t stepped_ = nullptr;
  cudaGraphExec_t step_ = nullptr;
  float* readings_ = nullptr;
  float* command_ = nullptr;
  float* arena_ = nullptr;
};

int main() {
  Autopilot pilot;
  float trim = 0.f;
  for (int i = 0; i < 1000; ++i) {
    pilot.begin(5.f + trim);
    trim = 0.01f * pilot.command()[i % kActions];
    if (i % 200 == 0) std::printf("step %d trim %.5f\n", i, static_cast<double>(trim));
  }
  return 0;
}
