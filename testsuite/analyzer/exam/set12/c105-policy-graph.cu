// Evaluates a small control policy at a fixed rate with a captured graph.

#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define OK(e) expect_success((e), #e, __LINE__)
inline void expect_success(cudaError_t e, const char* what, int line) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + " (line " + std::to_string(line) + "): " + cudaGetErrorString(e));
}

constexpr int kState = 32;
constexpr int kHidden = 256;
constexpr int kAction = 8;

struct HostFree {
  void operator()(float* p) const { cudaFreeHost(p); }
};
using PinnedFloats = std::unique_ptr<float[], HostFree>;

PinnedFloats make_pinned(size_t n) {
  float* p = nullptr;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&p), n * sizeof(float), cudaHostAllocDefault));
  return PinnedFloats(p);
}

__global__ void layer(const float* w, const float* in, int n_in, float* out, int n_out) {
  const int o = blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= n_out) return;
  float s = 0.0f;
  for (int i = 0; i < n_in; ++i) s += w[o * n_in + i] * in[i];
  out[o] = tanhf(s);
}

class Policy {
 public:
  explicit Policy(const std::vector<float>& weights)
      : state_host_(make_pinned(kState)), action_host_(make_pinned(kAction)) {
    OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OK(cudaMalloc(reinterpret_cast<void**>(&weights_), weights.size() * sizeof(float)));
    OK(cudaMalloc(reinterpret_cast<void**>(&activations_), (kState + kHidden + kAction) * sizeof(float)));
    OK(cudaMemcpyAsync(weights_, weights.data(), weights.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    OK(cudaStreamSynchronize(stream_));
    capture();
  }
  ~Policy() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(weights_);
    cudaFree(activations_);
    cudaStreamDestroy(stream_);
  }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  static constexpr size_t weight_count() { return static_cast<size_t>(kState) * kHidden + kHidden * kAction; }

  std::array<float, kAction> act(const std::array<float, kState>& state) {
    for (int i = 0; i < kState; ++i) state_host_[i] = state[i];
    OK(cudaGraphLaunch(exec_, stream_));
    OK(cudaStreamSynchronize(stream_));
    std::array<float, kAction> action;
    for (int i = 0; i < kAction; ++i) action[i] = action_host_[i];
    return action;
  }

 private:
  void capture() {
    float* state = activations_;
    float* hidden = state + kState;
    float* action = hidden + kHidden;
    cudaGraph_t graph = nullptr;
    OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(state, state_host_.get(), kState * sizeof(float), cudaMemcpyHostToDevice, stream_));
    layer<<<kHidden / 64, 64, 0, stream_>>>(weights_, state, kState, hidden, kHidden);
    layer<<<1, 32, 0, stream_>>>(weights_ + kState * kHidden, hidden, kHidden, action, kAction);
    OK(cudaMemcpyAsync(action_host_.get(), action, kAction * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    OK(cudaStreamEndCapture(stream_, &graph));
    OK(cudaGraphInstantiate(&exec_, graph, 0));
    OK(cudaGraphDestroy(graph));
  }

  PinnedFloats state_host_, action_host_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float* weights_ = nullptr;
  float* activations_ = nullptr;
};

int main() {
  std::vector<float> weights(Policy::weight_count());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = 0.05f * std::sin(0.37f * i);
  Policy policy(weights);
  std::array<float, kState> state{};
  state[0] = 1.0f;
  for (int tick = 0; tick < 1000; ++tick) {
    const std::array<float, kAction> action = policy.act(state);
    for (int i = 0; i < kState; ++i) state[i] = 0.99f * state[i] + 0.01f * action[i % kAction];
  }
  std::printf("final state[0] = %.5f\n", state[0]);
  return 0;
}
