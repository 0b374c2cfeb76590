// Signal plans for the traffic simulator. A plan has a few short arrays (phase lengths, offsets, detector ids); all of them go to
// the device in one batch when the control centre switches plans.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace signals {

inline void must(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}

struct Plan {
  int cycle_seconds = 90;
  std::vector<int> junctions;
};

struct DevicePlan {
  float* phases = nullptr;
  float* offsets = nullptr;
  int* detectors = nullptr;
  int count = 0;
};

__global__ void set_lights(const float* phases, const float* offsets, const int* detectors, int* lights, int n, float now) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float local = now + offsets[i];
  lights[detectors[i]] = fmodf(local, 2.f * phases[i]) < phases[i] ? 1 : 0;
}

// Collects copies and hands them to the driver together.
class UploadBatch {
 public:
  template <typename T>
  void add(T* to, const std::vector<T>& from) {
    targets_.push_back(to);
    sources_.push_back(from.data());
    sizes_.push_back(from.size() * sizeof(T));
  }

  void submit(cudaStream_t stream) {
    cudaMemcpyAttributes attributes = {};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    std::size_t first = 0;
    must(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), sizes_.data(), targets_.size(), &attributes, &first, 1, stream),
         "cudaMemcpyBatchAsync");
  }

 private:
  std::vector<void*> targets_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

class SignalController {
 public:
  explicit SignalController(int junctions) : junctions_(junctions) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    must(cudaMalloc(&plan_.phases, junctions * sizeof(float)), "cudaMalloc");
    must(cudaMalloc(&plan_.offsets, junctions * sizeof(float)), "cudaMalloc");
    must(cudaMalloc(&plan_.detectors, junctions * sizeof(int)), "cudaMalloc");
    must(cudaMalloc(&lights_, junctions * sizeof(int)), "cudaMalloc");
  }
  ~SignalController() {
    cudaStreamSynchronize(stream_);
    cudaFree(lights_);
    cudaFree(plan_.detectors);
    cudaFree(plan_.offsets);
    cudaFree(plan_.phases);
    cudaStreamDestroy(stream_);
  }
  SignalController(const SignalController&) = delete;
  SignalController& operator=(const SignalController&) = delete;

  void switch_to(const Plan& plan) {
    const std::size_t n = plan.junctions.size();
    if (n > static_cast<std::size_t>(junctions_)) throw std::length_error("plan");
    std::vector<float> phases(n, plan.cycle_seconds / 2.f);
    std::vector<float> offsets(n);
    for (std::size_t i = 0; i < n; ++i) offsets[i] = static_cast<float>(i % plan.cycle_seconds);

    UploadBatch batch;
    batch.add(plan_.phases, phases);
    batch.add(plan_.offsets, offsets);
    batch.add(plan_.detectors, plan.junctions);
    batch.submit(stream_);
    plan_.count = static_cast<int>(n);
  }

  void tick(float now) {
    set_lights<<<(plan_.count + 127) / 128, 128, 0, stream_>>>(plan_.phases, plan_.offsets, plan_.detectors, lights_,
                                                               plan_.count, now);
    must(cudaGetLastError(), "set_lights");
  }

  void wait() { must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  int junctions_;
  cudaStream_t stream_ = nullptr;
  DevicePlan plan_;
  int* lights_ = nullptr;
};

}  // namespace signals

int main() {
  constexpr int kJunctions = 20000;
  signals::Plan night, peak;
  for (signals::Plan* plan : {&night, &peak}) {
    plan->junctions.resize(kJunctions);
    std::iota(plan->junctions.begin(), plan->junctions.end(), 0);
  }
  peak.cycle_seconds = 120;

  signals::SignalController controller(kJunctions);
  for (int hour = 0; hour < 24; ++hour) {
    controller.switch_to(hour < 6 || hour > 20 ? night : peak);
    for (int minute = 0; minute < 60; ++minute) controller.tick(60.f * minute);
  }
  controller.wait();
  std::puts("one day simulated");
  return 0;
}
