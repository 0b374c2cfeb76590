// Radiotherapy dose engine: upload of the beam weights and dose accumulation are one graph; the weights
// change from replay to replay, in the same page-locked block.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define TRY(x)                                                                          \
  do {                                                                                  \
    cudaError_t err__ = (x);                                                            \
    if (err__ != cudaSuccess) {                                                         \
      std::fprintf(stderr, "%s (%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      std::abort();                                                                     \
    }                                                                                   \
  } while (0)

std::shared_ptr<float[]> pinnedFloats(size_t n) {
  void* p = nullptr;
  TRY(cudaMallocHost(&p, n * sizeof(float)));
  return std::shared_ptr<float[]>(static_cast<float*>(p), [](float* q) { cudaFreeHost(q); });
}

__global__ void accumulateDose(const float* weights, float* dose, int voxels, int beams) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= voxels) return;
  float d = 0.f;
  for (int b = 0; b < beams; ++b) d += weights[b] * __expf(-0.001f * ((v + 37 * b) % 4096));
  dose[v] += d;
}

class DosePlan {
 public:
  DosePlan(int voxels, int beams) : voxels_(voxels), beams_(beams), host_(pinnedFloats(beams)) {
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&replayed_, cudaEventDisableTiming));
    TRY(cudaMalloc(&weights_, beams * sizeof(float)));
    TRY(cudaMalloc(&dose_, voxels * sizeof(float)));
    TRY(cudaMemsetAsync(dose_, 0, voxels * sizeof(float), stream_));
    capture();
  }
  ~DosePlan() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(weights_);
    cudaFree(dose_);
    cudaEventDestroy(replayed_);
    cudaStreamDestroy(stream_);
  }
  DosePlan(const DosePlan&) = delete;
  DosePlan& operator=(const DosePlan&) = delete;

  template <typename Generator>
  void addFraction(Generator&& weightOf) {
    TRY(cudaEventSynchronize(replayed_));
    for (int b = 0; b < beams_; ++b) host_[b] = weightOf(b);
    TRY(cudaGraphLaunch(exec_, stream_));
    TRY(cudaEventRecord(replayed_, stream_));
  }

  std::vector<float> dose() {
    std::vector<float> out(voxels_);
    TRY(cudaMemcpyAsync(out.data(), dose_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void capture() {
    cudaGraph_t graph;
    TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    TRY(cudaMemcpyAsync(weights_, host_.get(), beams_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    accumulateDose<<<(voxels_ + 255) / 256, 256, 0, stream_>>>(weights_, dose_, voxels_, beams_);
    TRY(cudaStreamEndCapture(stream_, &graph));
    TRY(cudaGraphInstantiate(&exec_, graph, 0));
    TRY(cudaGraphDestroy(graph));
  }

  int voxels_, beams_;
  std::shared_ptr<float[]> host_;  // address is part of the graph
  cudaStream_t stream_{};
  cudaEvent_t replayed_{};
  cudaGraphExec_t exec_{};
  float *weights_ = nullptr, *dose_ = nullptr;
};

int main() {
  DosePlan plan(1 << 20, 96);
  for (int fraction = 0; fraction < 30; ++fraction)
    plan.addFraction([fraction](int beam) { return 0.01f * ((beam + fraction) % 11); });
  std::printf("%f\n", plan.dose()[123]);
  return 0;
}
