// Attenuation correction of a PET volume: the upper and the lower half of the
// axial range are processed side by side in one allocation.
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace pet {

inline void throwOn(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Slab {
  float* first;
  int count;
};

__global__ void correct(float* v, int count, float mu) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) v[i] *= __expf(mu * (i & 255));
}
__global__ void clampNegative(float* v, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && v[i] < 0.f) v[i] = 0.f;
}
__global__ void axialBlur(const float* in, float* out, int count, int plane) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float below = i >= plane ? in[i - plane] : in[i];
  float above = i + plane < count ? in[i + plane] : in[i];
  out[i] = 0.25f * below + 0.5f * in[i] + 0.25f * above;
}

class HalfWorker {
 public:
  HalfWorker() {
    throwOn(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    throwOn(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
  }
  ~HalfWorker() {
    cudaEventDestroy(done_);
    cudaStreamDestroy(s_);
  }
  HalfWorker(const HalfWorker&) = delete;

  void begin(cudaEvent_t after) { throwOn(cudaStreamWaitEvent(s_, after, 0)); }
  void process(Slab h, float mu) {
    const int grid = (h.count + 255) / 256;
    correct<<<grid, 256, 0, s_>>>(h.first, h.count, mu);
    clampNegative<<<grid, 256, 0, s_>>>(h.first, h.count);
    throwOn(cudaGetLastError());
    throwOn(cudaEventRecord(done_, s_));
  }
  void joinInto(cudaStream_t other) { throwOn(cudaStreamWaitEvent(other, done_, 0)); }

 private:
  cudaStream_t s_{};
  cudaEvent_t done_{};
};

class Corrector {
 public:
  Corrector(int plane, int slices) : plane_(plane), slices_(slices) {
    throwOn(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    throwOn(cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming));
    throwOn(cudaMalloc(&volume_, bytes()));
    throwOn(cudaMalloc(&blurred_, bytes()));
  }
  ~Corrector() {
    cudaStreamSynchronize(main_);
    cudaFree(volume_);
    cudaFree(blurred_);
    cudaEventDestroy(loaded_);
    cudaStreamDestroy(main_);
  }

  void load(const float* pinned) {
    throwOn(cudaMemcpyAsync(volume_, pinned, bytes(), cudaMemcpyHostToDevice, main_));
    throwOn(cudaEventRecord(loaded_, main_));
  }

  void correctBoth(float muLower, float muUpper) {
    auto halves = split();
    lower_.begin(loaded_);
    upper_.begin(loaded_);
    lower_.process(halves.first, muLower);
    upper_.process(halves.second, muUpper);
    lower_.joinInto(main_);
    upper_.joinInto(main_);
  }

  void finish(float* pinned) {
    const int n = plane_ * slices_;
    axialBlur<<<(n + 255) / 256, 256, 0, main_>>>(volume_, blurred_, n, plane_);
    throwOn(cudaGetLastError());
    throwOn(cudaMemcpyAsync(pinned, blurred_, bytes(), cudaMemcpyDeviceToHost, main_));
  }

  void wait() { throwOn(cudaStreamSynchronize(main_)); }

 private:
  size_t bytes() const { return size_t(plane_) * slices_ * sizeof(float); }
  std::pair<Slab, Slab> split() const {
    const int cut = (slices_ / 2) * plane_;
    return {Slab{volume_, cut}, Slab{volume_ + cut, plane_ * slices_ - cut}};
  }

  int plane_, slices_;
  cudaStream_t main_{};
  cudaEvent_t loaded_{};
  float *volume_{}, *blurred_{};
  HalfWorker lower_, upper_;
};

}  // namespace pet

int main() {
  const int plane = 256 * 256, slices = 109;
  float* host;
  pet::throwOn(cudaMallocHost(&host, sizeof(float) * plane * slices));
  for (int i = 0; i < plane * slices; ++i) host[i] = 0.5f;
  double centre = 0;
  {
    pet::Corrector c(plane, slices);
    for (int frame = 0; frame < 20; ++frame) {
      c.load(host);
      c.correctBoth(1e-3f, 2e-3f);
      c.finish(host);
      c.wait();
      centre += host[plane * (slices / 2)];
    }
  }
  std::printf("%g\n", centre);
  cudaFreeHost(host);
}
