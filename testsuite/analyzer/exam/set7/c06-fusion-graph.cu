// Sensor fusion step as one graph with a forked branch. The upload node is pointed at a fresh staging
// buffer before each launch, so that the host never waits for the step before.
#include <cuda_runtime.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace fusion {

inline void verify(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Reading {
  float imu[6];
  float gps[3];
  float dt;
};

struct State {
  float position[3];
  float velocity[3];
};

__global__ void predictMotion(const Reading* r, State* s) {
  const int k = threadIdx.x;
  if (k >= 3) return;
  s->velocity[k] += r->imu[k] * r->dt;
  s->position[k] += s->velocity[k] * r->dt;
}

__global__ void weighFix(const Reading* r, float* weight) {
  const int k = threadIdx.x;
  if (k < 3) weight[k] = 1.f / (1.f + r->gps[k] * r->gps[k]);
}

__global__ void correctState(const Reading* r, const float* weight, State* s) {
  const int k = threadIdx.x;
  if (k < 3) s->position[k] += weight[k] * (r->gps[k] - s->position[k]);
}

class FusionStep {
 public:
  FusionStep() {
    verify(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking), "main");
    verify(cudaStreamCreateWithFlags(&aux_, cudaStreamNonBlocking), "aux");
    verify(cudaMalloc(&reading_, sizeof(Reading)), "reading");
    verify(cudaMalloc(&state_, sizeof(State)), "state");
    verify(cudaMalloc(&weight_, 3 * sizeof(float)), "weight");
    verify(cudaMallocHost(&output_, sizeof(State)), "output");
    for (Staging& s : staging_) {
      verify(cudaMallocHost(&s.host, sizeof(Reading)), "staging");
      verify(cudaEventCreateWithFlags(&s.consumed, cudaEventDisableTiming), "event");
    }
    verify(cudaMemsetAsync(state_, 0, sizeof(State), main_), "clear");
    capture();
  }

  ~FusionStep() {
    cudaStreamSynchronize(main_);
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
    for (Staging& s : staging_) {
      cudaFreeHost(s.host);
      cudaEventDestroy(s.consumed);
    }
    cudaFreeHost(output_);
    cudaFree(reading_);
    cudaFree(state_);
    cudaFree(weight_);
    cudaStreamDestroy(main_);
    cudaStreamDestroy(aux_);
  }
  FusionStep(const FusionStep&) = delete;
  FusionStep& operator=(const FusionStep&) = delete;

  void push(const Reading& r) {
    Staging& s = staging_[turn_];
    turn_ = (turn_ + 1) % kStaging;
    verify(cudaEventSynchronize(s.consumed), "staging");
    std::memcpy(s.host, &r, sizeof(Reading));
    verify(cudaGraphExecMemcpyNodeSetParams1D(exec_, upload_, reading_, s.host, sizeof(Reading),
                                              cudaMemcpyHostToDevice),
           "retarget");
    verify(cudaGraphLaunch(exec_, main_), "launch");
    verify(cudaEventRecord(s.consumed, main_), "consumed");
  }

  // The state after everything pushed so far.
  State state() {
    verify(cudaMemcpyAsync(output_, state_, sizeof(State), cudaMemcpyDeviceToHost, main_), "download");
    verify(cudaStreamSynchronize(main_), "state");
    return *output_;
  }

 private:
  static constexpr int kStaging = 4;
  struct Staging {
    Reading* host = nullptr;
    cudaEvent_t consumed = nullptr;
  };

  void capture() {
    cudaEvent_t forked, joined;
    verify(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming), "forked");
    verify(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming), "joined");

    verify(cudaStreamBeginCapture(main_, cudaStreamCaptureModeThreadLocal), "begin");
    verify(cudaMemcpyAsync(reading_, staging_[0].host, sizeof(Reading), cudaMemcpyHostToDevice, main_), "upload");
    verify(cudaEventRecord(forked, main_), "fork");
    verify(cudaStreamWaitEvent(aux_, forked, 0), "fork");
    weighFix<<<1, 32, 0, aux_>>>(reading_, weight_);
    predictMotion<<<1, 32, 0, main_>>>(reading_, state_);
    verify(cudaEventRecord(joined, aux_), "join");
    verify(cudaStreamWaitEvent(main_, joined, 0), "join");
    correctState<<<1, 32, 0, main_>>>(reading_, weight_, state_);
    verify(cudaStreamEndCapture(main_, &graph_), "end");

    verify(cudaEventDestroy(forked), "forked");
    verify(cudaEventDestroy(joined), "joined");
    findUpload();
    verify(cudaGraphInstantiate(&exec_, graph_, 0), "instantiate");
  }

  void findUpload() {
    size_t count = 0;
    verify(cudaGraphGetNodes(graph_, nullptr, &count), "nodes");
    std::vector<cudaGraphNode_t> nodes(count);
    verify(cudaGraphGetNodes(graph_, nodes.data(), &count), "nodes");
    for (cudaGraphNode_t n : nodes) {
      cudaGraphNodeType type;
      verify(cudaGraphNodeGetType(n, &type), "type");
      if (type == cudaGraphNodeTypeMemcpy) upload_ = n;
    }
  }

  cudaStream_t main_ = nullptr, aux_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  cudaGraphNode_t upload_ = nullptr;
  Reading* reading_ = nullptr;
  State* state_ = nullptr;
  float* weight_ = nullptr;
  State* output_ = nullptr;
  Staging staging_[kStaging];
  int turn_ = 0;
};

}  // namespace fusion
