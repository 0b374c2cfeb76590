// Robot arm: the servo loop is one captured graph; waypoints arrive between the cycles.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace arm {

inline void expect(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

// Pinned blocks by size. A block may be given back once no queued copy uses it.
class StagingPool {
 public:
  StagingPool() = default;
  ~StagingPool() {
    for (void* p : owned_) cudaFreeHost(p);
  }
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  void* take(size_t bytes) {
    const auto it = idle_.lower_bound(bytes);
    if (it != idle_.end()) {
      void* p = it->second;
      idle_.erase(it);
      return p;
    }
    void* p = nullptr;
    expect(cudaMallocHost(&p, bytes), "staging");
    owned_.push_back(p);
    return p;
  }
  void give(void* p, size_t bytes) { idle_.emplace(bytes, p); }

 private:
  std::multimap<size_t, void*> idle_;
  std::vector<void*> owned_;
};

struct JointGain {
  float p, i, d;
};

__global__ void servoKernel(const JointGain* gains, const float* target, float* state, float* torque,
                            int joints) {
  const int j = threadIdx.x;
  if (j >= joints) return;
  const float err = target[j] - state[j];
  torque[j] = gains[j].p * err + gains[j].d * err * 0.5f;
  state[j] += gains[j].i * torque[j];
}

class ServoLoop {
 public:
  ServoLoop(StagingPool& pool, const std::vector<JointGain>& gains)
      : pool_(pool), joints_(static_cast<int>(gains.size())) {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    expect(cudaMalloc(&gains_, gainBytes()), "gains");
    expect(cudaMalloc(&target_, jointBytes()), "target");
    expect(cudaMalloc(&state_, jointBytes()), "state");
    expect(cudaMalloc(&torque_, jointBytes()), "torque");
    expect(cudaMemsetAsync(target_, 0, jointBytes(), stream_), "clear target");
    expect(cudaMemsetAsync(state_, 0, jointBytes(), stream_), "clear state");
    capture(gains);
  }

  ~ServoLoop() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(gains_);
    cudaFree(target_);
    cudaFree(state_);
    cudaFree(torque_);
    cudaStreamDestroy(stream_);
  }
  ServoLoop(const ServoLoop&) = delete;
  ServoLoop& operator=(const ServoLoop&) = delete;

  // Runs one cycle; the command is complete when this returns.
  void cycle(std::vector<float>& torque) {
    torque.resize(joints_);
    expect(cudaGraphLaunch(exec_, stream_), "launch");
    expect(cudaMemcpyAsync(torque.data(), torque_, jointBytes(), cudaMemcpyDeviceToHost, stream_), "torque");
    expect(cudaStreamSynchronize(stream_), "cycle");
  }

  void moveTo(const std::vector<float>& target) {
    const size_t bytes = jointBytes();
    float* block = static_cast<float*>(pool_.take(bytes));
    std::memcpy(block, target.data(), std::min(bytes, target.size() * sizeof(float)));
    expect(cudaMemcpyAsync(target_, block, bytes, cudaMemcpyHostToDevice, stream_), "target");
    expect(cudaStreamSynchronize(stream_), "moveTo");
    pool_.give(block, bytes);
  }

 private:
  size_t jointBytes() const { return sizeof(float) * joints_; }
  size_t gainBytes() const { return sizeof(JointGain) * joints_; }

  void capture(const std::vector<JointGain>& gains) {
    void* block = pool_.take(gainBytes());
    std::memcpy(block, gains.data(), gainBytes());

    cudaGraph_t graph = nullptr;
    expect(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "begin");
    expect(cudaMemcpyAsync(gains_, block, gainBytes(), cudaMemcpyHostToDevice, stream_), "gains");
    servoKernel<<<1, 64, 0, stream_>>>(gains_, target_, state_, torque_, joints_);
    expect(cudaGetLastError(), "servo");
    expect(cudaStreamEndCapture(stream_, &graph), "end");
    expect(cudaGraphInstantiate(&exec_, graph, 0), "instantiate");
    expect(cudaGraphDestroy(graph), "destroy");
    pool_.give(block, gainBytes());
  }

  StagingPool& pool_;
  int joints_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  JointGain* gains_ = nullptr;
  float* target_ = nullptr;
  float* state_ = nullptr;
  float* torque_ = nullptr;
};

}  // namespace arm
