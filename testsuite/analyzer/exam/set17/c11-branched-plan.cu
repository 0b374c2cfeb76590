// A captured image pipeline with two parallel branches and parameters that change per replay.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#define PLAN_CHECK(call)                                                            \
  do {                                                                              \
    const cudaError_t status_ = (call);                                             \
    if (status_ != cudaSuccess)                                                     \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(status_)); \
  } while (0)

namespace plan {

struct Params {
  float detail;
  float contrast;
};

__global__ void soften(const float* in, float* out, const Params* p, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float s = 0.f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      s += in[min(max(y + dy, 0), h - 1) * w + min(max(x + dx, 0), w - 1)];
  out[y * w + x] = s * (1.f / 9.f) * p->contrast;
}

__global__ void sharpen(const float* in, float* out, const Params* p, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const int i = y * w + x;
  const float left = in[y * w + max(x - 1, 0)], right = in[y * w + min(x + 1, w - 1)];
  out[i] = p->detail * (2.f * in[i] - left - right);
}

__global__ void blend(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

class Event {
 public:
  Event() { PLAN_CHECK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(e_); }
  operator cudaEvent_t() const { return e_; }

 private:
  cudaEvent_t e_ = nullptr;
};

class Stream {
 public:
  Stream() { PLAN_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  Stream(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(s_); }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

inline void order(cudaStream_t before, cudaStream_t after, cudaEvent_t via) {
  PLAN_CHECK(cudaEventRecord(via, before));
  PLAN_CHECK(cudaStreamWaitEvent(after, via, 0));
}

class BranchedPlan {
 public:
  BranchedPlan(int w, int h) : w_(w), h_(h) {
    PLAN_CHECK(cudaMallocHost(reinterpret_cast<void**>(&hostParams_), sizeof(Params)));
    PLAN_CHECK(cudaMalloc(reinterpret_cast<void**>(&params_), sizeof(Params)));
    for (float** p : {&in_, &soft_, &sharp_, &out_})
      PLAN_CHECK(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
    build();
  }
  BranchedPlan(const BranchedPlan&) = delete;
  ~BranchedPlan() {
    cudaEventSynchronize(finished_);
    cudaGraphExecDestroy(exec_);
    for (float* p : {in_, soft_, sharp_, out_}) cudaFree(p);
    cudaFree(params_);
    cudaFreeHost(hostParams_);
  }

  // `src` and `dst` are ordered on `stream`, which may be another one in each call.
  void run(const float* src, float* dst, const Params& params, cudaStream_t stream) {
    PLAN_CHECK(cudaEventSynchronize(finished_));
    *hostParams_ = params;
    PLAN_CHECK(cudaMemcpyAsync(in_, src, bytes(), cudaMemcpyDeviceToDevice, stream));
    PLAN_CHECK(cudaGraphLaunch(exec_, stream));
    PLAN_CHECK(cudaMemcpyAsync(dst, out_, bytes(), cudaMemcpyDeviceToDevice, stream));
    PLAN_CHECK(cudaEventRecord(finished_, stream));
  }

 private:
  void build() {
    Stream trunk, left, right;
    Event fork, leftDone, rightDone;
    cudaGraph_t graph = nullptr;
    PLAN_CHECK(cudaStreamBeginCapture(trunk, cudaStreamCaptureModeThreadLocal));
    PLAN_CHECK(cudaMemcpyAsync(params_, hostParams_, sizeof(Params), cudaMemcpyHostToDevice, trunk));
    order(trunk, left, fork);
    order(trunk, right, fork);
    const dim3 block(32, 8), grid((w_ + 31) / 32, (h_ + 7) / 8);
    soften<<<grid, block, 0, left>>>(in_, soft_, params_, w_, h_);
    sharpen<<<grid, block, 0, right>>>(in_, sharp_, params_, w_, h_);
    order(left, trunk, leftDone);
    order(right, trunk, rightDone);
    blend<<<(w_ * h_ + 255) / 256, 256, 0, trunk>>>(soft_, sharp_, out_, w_ * h_);
    PLAN_CHECK(cudaStreamEndCapture(trunk, &graph));
    PLAN_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    PLAN_CHECK(cudaGraphDestroy(graph));
  }
  size_t bytes() const { return size_t(w_) * h_ * sizeof(float); }

  int w_, h_;
  Params* hostParams_ = nullptr;
  Params* params_ = nullptr;
  float *in_ = nullptr, *soft_ = nullptr, *sharp_ = nullptr, *out_ = nullptr;
  Event finished_;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace plan
