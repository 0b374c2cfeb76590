// Energy tally of a toy ray tracer: hits are gathered into one half of a double buffer while the
// other half is folded into the detector image on a second stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void ok(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}

constexpr int kPixels = 1 << 16;
constexpr int kBatchesPerHalf = 4;

__global__ void traceBatch(float* half, int batch, unsigned seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPixels) return;
  unsigned h = (i * 2654435761u) ^ (seed + 97u * batch);
  half[batch * kPixels + i] = (h & 0xffff) * 1.5e-5f;
}

__global__ void foldHalf(const float* half, int batches, float* image) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPixels) return;
  float sum = 0.f;
  for (int b = 0; b < batches; ++b) sum += half[b * kPixels + i];
  image[i] += sum;
}

class Tally {
 public:
  Tally() {
    ok(cudaStreamCreateWithFlags(&trace_, cudaStreamNonBlocking), "trace stream");
    ok(cudaStreamCreateWithFlags(&drain_, cudaStreamNonBlocking), "drain stream");
    ok(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming), "event");
    ok(cudaEventCreateWithFlags(&drained_, cudaEventDisableTiming), "event");
    for (float*& h : half_) ok(cudaMalloc(&h, sizeof(float) * kPixels * kBatchesPerHalf), "half");
    ok(cudaMalloc(&image_, sizeof(float) * kPixels), "image");
    ok(cudaMemsetAsync(image_, 0, sizeof(float) * kPixels, drain_), "clear image");
  }
  ~Tally() {
    cudaStreamSynchronize(trace_);
    cudaStreamSynchronize(drain_);
    for (float* h : half_) cudaFree(h);
    cudaFree(image_);
    cudaEventDestroy(filled_);
    cudaEventDestroy(drained_);
    cudaStreamDestroy(trace_);
    cudaStreamDestroy(drain_);
  }

  void shoot(unsigned seed) {
    if (used_ == kBatchesPerHalf) flush();
    traceBatch<<<kPixels / 256, 256, 0, trace_>>>(half_[cur_], used_, seed);
    ++used_;
  }

  // Starts a new frame. The detector image keeps accumulating.
  void closeFrame() {
    if (used_ > 0) flush();
    used_ = 0;
    cur_ = 0;
    ++frames_;
  }

  void read(std::vector<float>& out) {
    out.resize(kPixels);
    ok(cudaMemcpyAsync(out.data(), image_, sizeof(float) * kPixels, cudaMemcpyDeviceToHost, drain_), "read");
    ok(cudaStreamSynchronize(drain_), "read sync");
  }

  int frames() const { return frames_; }

 private:
  void flush() {
    ok(cudaEventRecord(filled_, trace_), "record filled");
    ok(cudaStreamWaitEvent(drain_, filled_, 0), "wait filled");

    // The half that becomes current was handed out one flush ago.
    if (pending_) ok(cudaStreamWaitEvent(trace_, drained_, 0), "wait drained");

    foldHalf<<<kPixels / 256, 256, 0, drain_>>>(half_[cur_], used_, image_);
    ok(cudaEventRecord(drained_, drain_), "record drained");
    pending_ = true;
    cur_ ^= 1;
    used_ = 0;
  }

  cudaStream_t trace_ = nullptr, drain_ = nullptr;
  cudaEvent_t filled_ = nullptr, drained_ = nullptr;
  float* half_[2] = {nullptr, nullptr};
  float* image_ = nullptr;
  int cur_ = 0;
  int used_ = 0;
  int frames_ = 0;
  bool pending_ = false;
};

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 16;
  Tally tally;
  for (int f = 0; f < frames; ++f) {
    for (int b = 0; b < 3 * kBatchesPerHalf; ++b) tally.shoot(1000u * f + b);
    tally.closeFrame();
  }
  std::vector<float> image;
  tally.read(image);
  double sum = 0;
  for (float v : image) sum += v;
  std::printf("%d frames, mean energy %g\n", tally.frames(), sum / kPixels);
  return 0;
}
