// Live spectrogram of a stereo signal: both channels are transformed in their own streams.
#include <cuda_runtime.h>
#include <cufft.h>

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

namespace spectra {

inline void ensure(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}
inline void ensure(cufftResult r) {
  if (r != CUFFT_SUCCESS) throw std::runtime_error("cufft error " + std::to_string(r));
}

// Plans are expensive to make and are kept, with their work areas, for the life of the cache.
class PlanCache {
 public:
  PlanCache() = default;
  ~PlanCache() { clear(); }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  void forward(cufftComplex* data, int length, int batch, cudaStream_t stream) {
    Entry& e = lookup(length, batch, stream);
    ensure(cufftSetStream(e.plan, stream));
    ensure(cufftExecC2C(e.plan, data, data, CUFFT_FORWARD));
  }

  // Nothing that uses a plan may be pending.
  void clear() {
    for (auto& item : entries_) {
      cufftDestroy(item.second.plan);
      cudaFree(item.second.work);
    }
    entries_.clear();
  }

 private:
  struct Entry {
    cufftHandle plan = 0;
    void* work = nullptr;
    size_t workBytes = 0;
  };
  using Key = std::tuple<int, int, cudaStream_t>;

  Entry& lookup(int length, int batch, cudaStream_t stream) {
    const Key key(length, batch, stream);
    const auto found = entries_.find(key);
    if (found != entries_.end()) return found->second;
    Entry e;
    ensure(cufftCreate(&e.plan));
    ensure(cufftSetAutoAllocation(e.plan, 0));
    ensure(cufftMakePlan1d(e.plan, length, CUFFT_C2C, batch, &e.workBytes));
    ensure(cudaMalloc(&e.work, e.workBytes));
    ensure(cufftSetWorkArea(e.plan, e.work));
    return entries_.emplace(key, e).first->second;
  }

  std::map<Key, Entry> entries_;
};

__global__ void windowFrames(const float* samples, cufftComplex* frames, int length, int batch, int hop) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length * batch) return;
  const int k = i % length;
  const float w = 0.5f - 0.5f * cosf(6.2831853f * k / length);
  frames[i] = make_cuFloatComplex(w * samples[(i / length) * hop + k], 0.f);
}

__global__ void magnitudes(const cufftComplex* frames, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sqrtf(frames[i].x * frames[i].x + frames[i].y * frames[i].y);
}

struct Geometry {
  int length = 4096;
  int batch = 32;
  int hop = 1024;
  int points() const { return length * batch; }
  int samples() const { return hop * (batch - 1) + length; }
};

struct Side {
  cudaStream_t stream = nullptr;
  float* samples = nullptr;
  cufftComplex* frames = nullptr;
  float* spectrum = nullptr;
};

class StereoAnalyzer {
 public:
  explicit StereoAnalyzer(const Geometry& g) : g_(g) {
    open(left_);
    open(right_);
  }
  ~StereoAnalyzer() {
    cudaStreamSynchronize(left_.stream);
    cudaStreamSynchronize(right_.stream);
    plans_.clear();
    close(left_);
    close(right_);
  }
  StereoAnalyzer(const StereoAnalyzer&) = delete;
  StereoAnalyzer& operator=(const StereoAnalyzer&) = delete;

  // Pinned inputs and outputs; they belong to the analyzer until wait() returns.
  void submit(const float* left, const float* right, float* leftOut, float* rightOut) {
    analyze(left_, left, leftOut);
    analyze(right_, right, rightOut);
  }

  void wait() {
    ensure(cudaStreamSynchronize(left_.stream));
    ensure(cudaStreamSynchronize(right_.stream));
  }

 private:
  void open(Side& s) {
    ensure(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
    ensure(cudaMalloc(&s.samples, sizeof(float) * g_.samples()));
    ensure(cudaMalloc(&s.frames, sizeof(cufftComplex) * g_.points()));
    ensure(cudaMalloc(&s.spectrum, sizeof(float) * g_.points()));
  }

  static void close(Side& s) {
    cudaFree(s.samples);
    cudaFree(s.frames);
    cudaFree(s.spectrum);
    cudaStreamDestroy(s.stream);
  }

  void analyze(Side& s, const float* in, float* out) {
    const int n = g_.points();
    ensure(cudaMemcpyAsync(s.samples, in, sizeof(float) * g_.samples(), cudaMemcpyHostToDevice, s.stream));
    windowFrames<<<(n + 255) / 256, 256, 0, s.stream>>>(s.samples, s.frames, g_.length, g_.batch, g_.hop);
    ensure(cudaGetLastError());
    plans_.forward(s.frames, g_.length, g_.batch, s.stream);
    magnitudes<<<(n + 255) / 256, 256, 0, s.stream>>>(s.frames, s.spectrum, n);
    ensure(cudaGetLastError());
    ensure(cudaMemcpyAsync(out, s.spectrum, sizeof(float) * n, cudaMemcpyDeviceToHost, s.stream));
  }

  Geometry g_;
  Side left_;
  Side right_;
  PlanCache plans_;
};

}  // namespace spectra
