// Chroma features of a music stream: a filter bank followed by a folding kernel that is
// launched as its dependent. The folding kernel fetches its weights, which were uploaded when
// the extractor was built, while the filter bank is still running.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CH_CHECK(x)                                                                  \
  do {                                                                               \
    const cudaError_t ch_rc = (x);                                                   \
    if (ch_rc != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(ch_rc)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

namespace chroma {

constexpr int kFrame = 2048;
constexpr int kNotes = 96;
constexpr int kClasses = 12;

__global__ void filter_bank(const float* __restrict__ audio, float* __restrict__ notes) {
  cudaTriggerProgrammaticLaunchCompletion();
  const float* frame = audio + blockIdx.x * kFrame;
  const int note = threadIdx.x;
  const float pitch = 55.f * exp2f(note / 12.f) / 44100.f;
  float re = 0.f, im = 0.f;
  for (int i = 0; i < kFrame; ++i) {
    float s, c;
    sincospif(2.f * pitch * i, &s, &c);
    re += frame[i] * c;
    im += frame[i] * s;
  }
  notes[blockIdx.x * kNotes + note] = sqrtf(re * re + im * im);
}

__device__ float fold(const float* notes, const float* weight, int cls) {
  float sum = 0.f;
  for (int n = cls; n < kNotes; n += kClasses) sum += notes[blockIdx.x * kNotes + n] * weight[n];
  return sum;
}

__global__ void fold_classes(const float* notes, const float* __restrict__ weights,
                             float* __restrict__ out) {
  __shared__ float weight[kNotes];
  for (int n = threadIdx.x; n < kNotes; n += blockDim.x) weight[n] = weights[n];
  __syncthreads();

  cudaGridDependencySynchronize();
  if (threadIdx.x < kClasses) out[blockIdx.x * kClasses + threadIdx.x] = fold(notes, weight, threadIdx.x);
}

class Extractor {
 public:
  explicit Extractor(int frames) : frames_(frames) {
    CH_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CH_CHECK(cudaMalloc(&audio_, sizeof(float) * frames * kFrame));
    CH_CHECK(cudaMalloc(&notes_, sizeof(float) * frames * kNotes));
    CH_CHECK(cudaMalloc(&weights_, sizeof(float) * kNotes));
    CH_CHECK(cudaMalloc(&classes_, sizeof(float) * frames * kClasses));
    std::vector<float> w(kNotes);
    for (int n = 0; n < kNotes; ++n) w[n] = std::exp(-0.5f * std::pow((n - 48) / 24.f, 2.f));
    CH_CHECK(cudaMemcpyAsync(weights_, w.data(), sizeof(float) * kNotes, cudaMemcpyHostToDevice,
                             stream_));
    CH_CHECK(cudaStreamSynchronize(stream_));
  }
  ~Extractor() {
    cudaStreamSynchronize(stream_);
    for (float* p : {audio_, notes_, weights_, classes_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  Extractor(const Extractor&) = delete;
  Extractor& operator=(const Extractor&) = delete;

  std::vector<float> extract(const std::vector<float>& audio) {
    CH_CHECK(cudaMemcpyAsync(audio_, audio.data(), sizeof(float) * frames_ * kFrame,
                             cudaMemcpyHostToDevice, stream_));
    filter_bank<<<frames_, kNotes, 0, stream_>>>(audio_, notes_);
    CH_CHECK(cudaGetLastError());
    launch_fold();
    std::vector<float> out(static_cast<std::size_t>(frames_) * kClasses);
    CH_CHECK(cudaMemcpyAsync(out.data(), classes_, out.size() * sizeof(float), cudaMemcpyDeviceToHost,
                             stream_));
    CH_CHECK(cudaStreamSynchronize(stream_));
    return out;
  }

 private:
  void launch_fold() {
    cudaLaunchAttribute attr{};
    attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attr.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t cfg{};
    cfg.gridDim = dim3(frames_);
    cfg.blockDim = dim3(32);
    cfg.stream = stream_;
    cfg.attrs = &attr;
    cfg.numAttrs = 1;
    CH_CHECK(cudaLaunchKernelEx(&cfg, fold_classes, static_cast<const float*>(notes_),
                                static_cast<const float*>(weights_), classes_));
  }

  int frames_;
  cudaStream_t stream_ = nullptr;
  float *audio_ = nullptr, *notes_ = nullptr, *weights_ = nullptr, *classes_ = nullptr;
};

}  // namespace chroma

int main() {
  constexpr int frames = 128;
  std::vector<float> audio(frames * chroma::kFrame);
  for (std::size_t i = 0; i < audio.size(); ++i) audio[i] = std::sin(6.2831853f * 440.f * i / 44100.f);
  chroma::Extractor extractor(frames);
  for (int pass = 0; pass < 4; ++pass) {
    const auto classes = extractor.extract(audio);
    std::printf("pass %d: A %.3f  C %.3f\n", pass, classes[0], classes[3]);
  }
}
