// Overlap-save convolution for stereo rooms. Both ears are processed on their own stream.
#include <cuda_runtime.h>
#include <cufft.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#define RT_CHECK(x)                                                            \
  do {                                                                         \
    if ((x) != 0) {                                                            \
      std::fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #x);      \
      std::abort();                                                            \
    }                                                                          \
  } while (0)

namespace room {

// Transform scratch is large, so it is kept for the lifetime of the process and shared between
// plans of the same size.
class WorkAreas {
 public:
  static WorkAreas& instance() {
    static WorkAreas w;
    return w;
  }

  void* get(int device, size_t bytes, cudaStream_t stream) {
    void*& p = areas_[{{device, bytes}, stream}];
    if (!p) RT_CHECK(cudaMalloc(&p, bytes));
    return p;
  }

 private:
  std::map<std::pair<std::pair<int, size_t>, cudaStream_t>, void*> areas_;
};

__global__ void multiplySpectra(cufftComplex* x, const cufftComplex* h, int n, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  cufftComplex a = x[i], b = h[i];
  x[i].x = (a.x * b.x - a.y * b.y) * scale;
  x[i].y = (a.x * b.y + a.y * b.x) * scale;
}

class EarConvolver {
 public:
  EarConvolver(int device, int n, int batch, cudaStream_t stream) : n_(n), batch_(batch), stream_(stream) {
    size_t bytes = 0;
    RT_CHECK(cufftCreate(&plan_));
    RT_CHECK(cufftSetAutoAllocation(plan_, 0));
    RT_CHECK(cufftMakePlan1d(plan_, n, CUFFT_C2C, batch, &bytes));
    RT_CHECK(cufftSetStream(plan_, stream));
    RT_CHECK(cufftSetWorkArea(plan_, WorkAreas::instance().get(device, bytes, stream)));
  }
  ~EarConvolver() {
    cudaStreamSynchronize(stream_);
    cufftDestroy(plan_);
  }
  EarConvolver(const EarConvolver&) = delete;
  EarConvolver& operator=(const EarConvolver&) = delete;

  void forward(cufftComplex* x) { RT_CHECK(cufftExecC2C(plan_, x, x, CUFFT_FORWARD)); }

  void inverse(cufftComplex* x) { RT_CHECK(cufftExecC2C(plan_, x, x, CUFFT_INVERSE)); }

  void applyResponse(cufftComplex* x, const cufftComplex* h) {
    const int total = n_ * batch_;
    multiplySpectra<<<(total + 255) / 256, 256, 0, stream_>>>(x, h, total, 1.0f / n_);
  }

  cudaStream_t stream() const { return stream_; }

 private:
  int n_, batch_;
  cudaStream_t stream_;
  cufftHandle plan_ = 0;
};

class StereoRoom {
 public:
  StereoRoom(int device, int n, int batch)
      : streams_(makeStreams()), left_(device, n, batch, streams_.first), right_(device, n, batch, streams_.second) {
    RT_CHECK(cudaEventCreateWithFlags(&leftDone_, cudaEventDisableTiming));
    RT_CHECK(cudaEventCreateWithFlags(&rightDone_, cudaEventDisableTiming));
    RT_CHECK(cudaEventCreateWithFlags(&blockReady_, cudaEventDisableTiming));
  }
  ~StereoRoom() {
    cudaStreamSynchronize(streams_.first);
    cudaStreamSynchronize(streams_.second);
    cudaEventDestroy(leftDone_);
    cudaEventDestroy(rightDone_);
    cudaEventDestroy(blockReady_);
  }

  // `l` and `r` hold the dry signal, produced on `caller`, and are replaced by the wet one.
  void process(cufftComplex* l, cufftComplex* r, const cufftComplex* hl, const cufftComplex* hr, cudaStream_t caller) {
    RT_CHECK(cudaEventRecord(blockReady_, caller));
    RT_CHECK(cudaStreamWaitEvent(left_.stream(), blockReady_, 0));
    RT_CHECK(cudaStreamWaitEvent(right_.stream(), blockReady_, 0));

    left_.forward(l);
    right_.forward(r);
    left_.applyResponse(l, hl);
    right_.applyResponse(r, hr);
    left_.inverse(l);
    right_.inverse(r);

    RT_CHECK(cudaEventRecord(leftDone_, left_.stream()));
    RT_CHECK(cudaEventRecord(rightDone_, right_.stream()));
    RT_CHECK(cudaStreamWaitEvent(caller, leftDone_, 0));
    RT_CHECK(cudaStreamWaitEvent(caller, rightDone_, 0));
  }

 private:
  static std::pair<cudaStream_t, cudaStream_t> makeStreams() {
    std::pair<cudaStream_t, cudaStream_t> s;
    RT_CHECK(cudaStreamCreateWithFlags(&s.first, cudaStreamNonBlocking));
    RT_CHECK(cudaStreamCreateWithFlags(&s.second, cudaStreamNonBlocking));
    return s;
  }

  std::pair<cudaStream_t, cudaStream_t> streams_;
  EarConvolver left_, right_;
  cudaEvent_t leftDone_ = nullptr, rightDone_ = nullptr, blockReady_ = nullptr;
};

}  // namespace room
