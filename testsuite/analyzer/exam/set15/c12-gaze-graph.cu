// Gaze correction for the conference client. The chain for one frame is captured once; head pose and gain travel in a page-locked
// block that belongs to the graph and is written anew for every frame.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define GAZE_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));    \
      std::abort();                                                                       \
    }                                                                                     \
  } while (0)

namespace gaze {

struct Pose {
  float yaw, pitch, roll, gain;
};

__global__ void warp_eyes(const Pose* pose, const float* in, float* out, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  const int shift = static_cast<int>(pose->yaw * 8.f);
  out[i] = pose->gain * in[(i + shift + pixels) % pixels];
}

__global__ void blend(const float* warped, float* frame, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) frame[i] = 0.5f * (frame[i] + warped[i]);
}

class CorrectionGraph {
 public:
  CorrectionGraph(int pixels, cudaStream_t stream) : pixels_(pixels), stream_(stream) {
    GAZE_CHECK(cudaMallocHost(&pose_host_, sizeof(Pose)));
    GAZE_CHECK(cudaMalloc(&pose_, sizeof(Pose)));
    GAZE_CHECK(cudaMalloc(&frame_, pixels * sizeof(float)));
    GAZE_CHECK(cudaMalloc(&warped_, pixels * sizeof(float)));
    GAZE_CHECK(cudaMemsetAsync(frame_, 0, pixels * sizeof(float), stream_));
    GAZE_CHECK(cudaEventCreateWithFlags(&replayed_, cudaEventDisableTiming));
    *pose_host_ = Pose{};
    capture();
  }
  ~CorrectionGraph() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaEventDestroy(replayed_);
    cudaFree(warped_);
    cudaFree(frame_);
    cudaFree(pose_);
    cudaFreeHost(pose_host_);
  }
  CorrectionGraph(const CorrectionGraph&) = delete;
  CorrectionGraph& operator=(const CorrectionGraph&) = delete;

  void process(const Pose& pose) {
    set_pose(pose);
    GAZE_CHECK(cudaGraphLaunch(exec_, stream_));
    GAZE_CHECK(cudaEventRecord(replayed_, stream_));
  }

 private:
  void set_pose(const Pose& pose) {
    GAZE_CHECK(cudaEventSynchronize(replayed_));
    *pose_host_ = pose;
  }

  void capture() {
    const int blocks = (pixels_ + 255) / 256;
    cudaGraph_t graph = nullptr;
    GAZE_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    GAZE_CHECK(cudaMemcpyAsync(pose_, pose_host_, sizeof(Pose), cudaMemcpyHostToDevice, stream_));
    warp_eyes<<<blocks, 256, 0, stream_>>>(pose_, frame_, warped_, pixels_);
    blend<<<blocks, 256, 0, stream_>>>(warped_, frame_, pixels_);
    GAZE_CHECK(cudaStreamEndCapture(stream_, &graph));
    GAZE_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    GAZE_CHECK(cudaGraphDestroy(graph));
  }

  int pixels_;
  cudaStream_t stream_;
  Pose* pose_host_ = nullptr;
  Pose* pose_ = nullptr;
  float* frame_ = nullptr;
  float* warped_ = nullptr;
  cudaEvent_t replayed_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace gaze

int main() {
  cudaStream_t stream;
  GAZE_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    gaze::CorrectionGraph graph(640 * 480, stream);
    for (int frame = 0; frame < 900; ++frame) graph.process({0.001f * frame, 0.f, 0.f, 1.f});
  }
  GAZE_CHECK(cudaStreamDestroy(stream));
  return 0;
}
