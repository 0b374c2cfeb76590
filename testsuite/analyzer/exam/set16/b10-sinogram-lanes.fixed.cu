// Filtered back-projection over many projection angles: filtering and back-projection run on two lanes.
#include <cuda_runtime.h>

#include <cstdio>
#include <stdexcept>
#include <vector>

static void must(cudaError_t rc, int line) {
  if (rc != cudaSuccess) {
    std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
    throw std::runtime_error("cuda");
  }
}
#define MUST(x) must((x), __LINE__)

// A stream together with the event that publishes its progress.
class Lane {
 public:
  Lane() {
    MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&progress_, cudaEventDisableTiming));
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(progress_);
    cudaStreamDestroy(stream_);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Orders this lane behind everything submitted to `other`.  Skipped when `other` has been waited for.
  void after(Lane& other) {
    if (other.published_) return;
    MUST(cudaEventRecord(other.progress_, other.stream_));
    MUST(cudaStreamWaitEvent(stream_, other.progress_, 0));
    other.published_ = true;
  }

  // Called whenever new work has been submitted.
  void touched() { published_ = false; }

  void drain() { MUST(cudaStreamSynchronize(stream_)); }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_{};
  cudaEvent_t progress_{};
  bool published_ = false;
};

__global__ void rampFilter(const float* raw, float* filtered, int detectors, int angle) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= detectors) return;
  const float* row = raw + size_t(angle) * detectors;
  float acc = row[d] * 0.25f;
  for (int k = 1; k < 64; k += 2) {
    float l = d - k >= 0 ? row[d - k] : 0.f, r = d + k < detectors ? row[d + k] : 0.f;
    acc -= (l + r) / (9.8696f * k * k);
  }
  filtered[d] = acc;
}

__global__ void backproject(const float* filtered, float* slice, int size, int detectors, float theta) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= size || y >= size) return;
  float t = (x - size * 0.5f) * cosf(theta) + (y - size * 0.5f) * sinf(theta) + detectors * 0.5f;
  int d = static_cast<int>(t);
  if (d >= 0 && d < detectors) slice[y * size + x] += filtered[d];
}

class Reconstructor {
 public:
  Reconstructor(int size, int detectors) : size_(size), detectors_(detectors) {
    MUST(cudaMalloc(&filtered_, sizeof(float) * detectors));
    MUST(cudaMalloc(&slice_, sizeof(float) * size * size));
    MUST(cudaMemsetAsync(slice_, 0, sizeof(float) * size * size, project_.stream()));
    project_.touched();
  }
  ~Reconstructor() {
    filter_.drain();
    project_.drain();
    cudaFree(filtered_);
    cudaFree(slice_);
  }

  void addAngle(const float* raw, int angle, float theta) {
    filterRow(raw, angle);
    projectRow(theta);
  }

  void read(std::vector<float>& out) {
    out.resize(size_t(size_) * size_);
    MUST(cudaMemcpyAsync(out.data(), slice_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, project_.stream()));
    project_.drain();
  }

 private:
  void filterRow(const float* raw, int angle) {
    filter_.after(project_);
    rampFilter<<<(detectors_ + 127) / 128, 128, 0, filter_.stream()>>>(raw, filtered_, detectors_, angle);
    MUST(cudaGetLastError());
    filter_.touched();
  }

  void projectRow(float theta) {
    project_.after(filter_);
    backproject<<<dim3((size_ + 127) / 128, size_), 128, 0, project_.stream()>>>(filtered_, slice_, size_, detectors_, theta);
    MUST(cudaGetLastError());
    project_.touched();
  }

  int size_, detectors_;
  float* filtered_ = nullptr;
  float* slice_ = nullptr;
  Lane filter_, project_;
};

int main() {
  const int size = 512, detectors = 768, angles = 360;
  float* raw = nullptr;
  MUST(cudaMalloc(&raw, sizeof(float) * detectors * angles));
  MUST(cudaMemset(raw, 0, sizeof(float) * detectors * angles));
  MUST(cudaDeviceSynchronize());
  {
    Reconstructor rec(size, detectors);
    for (int a = 0; a < angles; ++a) rec.addAngle(raw, a, a * 3.14159265f / angles);
    std::vector<float> slice;
    rec.read(slice);
    std::printf("%f\n", slice[0]);
  }
  MUST(cudaFree(raw));
  return 0;
}
