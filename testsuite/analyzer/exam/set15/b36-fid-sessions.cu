// NMR free induction decays: apodisation and power spectrum. A session is opened per measurement, takes one of the big work
// areas, queues its kernels and goes; the caller gets the spectrum through a device buffer of its own and an event.
#include <cuda_runtime.h>

#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace nmr {

inline void expect(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

__global__ void apodise(const float2* fid, float2* work, int n, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float w = expf(-decay * i / n);
  work[i] = make_float2(fid[i].x * w, fid[i].y * w);
}

__global__ void power(const float2* work, float* spectrum, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  float re = 0.f, im = 0.f;
  for (int i = 0; i < n; ++i) {
    float s, c;
    __sincosf(-6.2831853f * k * i / n, &s, &c);
    re += work[i].x * c - work[i].y * s;
    im += work[i].x * s + work[i].y * c;
  }
  spectrum[k] = re * re + im * im;
}

class WorkAreas {
 public:
  WorkAreas(int count, std::size_t points) : points_(points) {
    for (int i = 0; i < count; ++i) {
      float2* area = nullptr;
      expect(cudaMalloc(&area, points * sizeof(float2)), "cudaMalloc");
      all_.push_back(area);
    }
    idle_ = all_;
  }
  ~WorkAreas() {
    cudaDeviceSynchronize();
    for (float2* area : all_) cudaFree(area);
  }
  WorkAreas(const WorkAreas&) = delete;
  WorkAreas& operator=(const WorkAreas&) = delete;

  float2* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) throw std::runtime_error("all work areas are taken");
    float2* area = idle_.back();
    idle_.pop_back();
    return area;
  }

  void give_back(float2* area) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(area);
  }

  std::size_t points() const { return points_; }

 private:
  std::mutex mutex_;
  std::size_t points_;
  std::vector<float2*> all_;
  std::vector<float2*> idle_;
};

class Session {
 public:
  explicit Session(WorkAreas& areas) : areas_(areas), work_(areas.take()) {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~Session() {
    cudaStreamDestroy(stream_);
    areas_.give_back(work_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // fid is complete; done is recorded behind the last kernel.
  void transform(const float2* fid, float* spectrum, float decay, cudaEvent_t done) {
    const int n = static_cast<int>(areas_.points());
    const int blocks = (n + 255) / 256;
    apodise<<<blocks, 256, 0, stream_>>>(fid, work_, n, decay);
    power<<<blocks, 256, 0, stream_>>>(work_, spectrum, n);
    expect(cudaGetLastError(), "transform");
    expect(cudaEventRecord(done, stream_), "cudaEventRecord");
  }

 private:
  WorkAreas& areas_;
  float2* work_;
  cudaStream_t stream_ = nullptr;
};

struct Measurement {
  const float2* fid = nullptr;
  float* spectrum = nullptr;
  float decay = 3.f;
  cudaEvent_t done = nullptr;
};

class Spectrometer {
 public:
  explicit Spectrometer(std::size_t points) : areas_(2, points) {}

  void submit(const Measurement& m) {
    Session session(areas_);
    session.transform(m.fid, m.spectrum, m.decay, m.done);
  }

  void submit_all(const std::vector<Measurement>& queue) {
    for (const Measurement& m : queue) submit(m);
    for (const Measurement& m : queue) expect(cudaEventSynchronize(m.done), "cudaEventSynchronize");
  }

 private:
  WorkAreas areas_;
};

}  // namespace nmr
