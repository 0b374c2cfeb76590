// Side-scan sonar: the beam former is captured once; its output is copied out on a second stream
// while the next ping is formed.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define SONAR_CHECK(x)                                                            \
  do {                                                                            \
    cudaError_t r_ = (x);                                                         \
    if (r_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r_));               \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

__global__ void matched_filter(const short* echo, float* filtered, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = 0.f;
  for (int k = 0; k < 16 && i + k < n; ++k) a += echo[i + k] * ((k & 1) ? -1.f : 1.f);
  filtered[i] = a;
}

__global__ void form_beams(const float* filtered, float* beams, int n, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int b = 0; b < count; ++b) beams[b * n + i] = filtered[(i + 3 * b) % n];
}

class BeamFormer {
 public:
  static constexpr int kBeams = 16;

  BeamFormer(int samples, int pings) : n_(samples), archive_(pings) {
    SONAR_CHECK(cudaStreamCreateWithFlags(&form_, cudaStreamNonBlocking));
    SONAR_CHECK(cudaStreamCreateWithFlags(&store_, cudaStreamNonBlocking));
    SONAR_CHECK(cudaEventCreateWithFlags(&formed_, cudaEventDisableTiming));
    SONAR_CHECK(cudaEventCreateWithFlags(&stored_, cudaEventDisableTiming));
    SONAR_CHECK(cudaMalloc(&echo_, n_ * sizeof(short)));
    SONAR_CHECK(cudaMalloc(&filtered_, n_ * sizeof(float)));
    SONAR_CHECK(cudaMalloc(&beams_, image_bytes()));
    for (float*& a : archive_) SONAR_CHECK(cudaMalloc(&a, image_bytes()));
    record();
  }

  ~BeamFormer() {
    cudaStreamSynchronize(store_);
    cudaStreamSynchronize(form_);
    cudaGraphExecDestroy(exec_);
    for (float* a : archive_) cudaFree(a);
    cudaFree(beams_);
    cudaFree(filtered_);
    cudaFree(echo_);
    cudaEventDestroy(stored_);
    cudaEventDestroy(formed_);
    cudaStreamDestroy(store_);
    cudaStreamDestroy(form_);
  }

  // echo: page-locked, unchanged until finish().
  void ping(const short* echo, int index) {
    upload(echo);
    // Outside the graph: the copy of the ping before has to be through.
    SONAR_CHECK(cudaStreamWaitEvent(form_, stored_, 0));
    SONAR_CHECK(cudaGraphLaunch(exec_, form_));
    archive(index);
  }

  void finish() { SONAR_CHECK(cudaStreamSynchronize(store_)); }

  std::vector<float> image(int index) const {
    std::vector<float> out(static_cast<size_t>(n_) * kBeams);
    SONAR_CHECK(cudaMemcpy(out.data(), archive_[index], image_bytes(), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  size_t image_bytes() const { return sizeof(float) * n_ * kBeams; }

  void record() {
    cudaGraph_t graph{};
    const int g = (n_ + 127) / 128;
    SONAR_CHECK(cudaStreamBeginCapture(form_, cudaStreamCaptureModeRelaxed));
    matched_filter<<<g, 128, 0, form_>>>(echo_, filtered_, n_);
    form_beams<<<g, 128, 0, form_>>>(filtered_, beams_, n_, kBeams);
    SONAR_CHECK(cudaStreamEndCapture(form_, &graph));
    SONAR_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    SONAR_CHECK(cudaGraphDestroy(graph));
  }

  void upload(const short* echo) {
    SONAR_CHECK(cudaMemcpyAsync(echo_, echo, n_ * sizeof(short), cudaMemcpyHostToDevice, form_));
  }

  void archive(int index) {
    SONAR_CHECK(cudaEventRecord(formed_, form_));
    SONAR_CHECK(cudaStreamWaitEvent(store_, formed_, 0));
    SONAR_CHECK(cudaMemcpyAsync(archive_[index], beams_, image_bytes(), cudaMemcpyDeviceToDevice,
                                store_));
    SONAR_CHECK(cudaEventRecord(stored_, store_));
  }

  int n_;
  std::vector<float*> archive_;
  cudaStream_t form_{}, store_{};
  cudaEvent_t formed_{}, stored_{};
  short* echo_ = nullptr;
  float *filtered_ = nullptr, *beams_ = nullptr;
  cudaGraphExec_t exec_{};
};

int main() {
  constexpr int kSamples = 1 << 16, kPings = 24;
  short* echoes = nullptr;
  SONAR_CHECK(cudaMallocHost(&echoes, sizeof(short) * kSamples * kPings));
  for (int i = 0; i < kSamples * kPings; ++i) echoes[i] = static_cast<short>(i % 1201);
  {
    BeamFormer former(kSamples, kPings);
    for (int p = 0; p < kPings; ++p) former.ping(echoes + p * kSamples, p);
    former.finish();
    for (int p = 0; p < kPings; ++p) std::printf("%f\n", former.image(p)[7]);
  }
  SONAR_CHECK(cudaFreeHost(echoes));
  return 0;
}
