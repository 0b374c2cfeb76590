// Ensemble prediction over several GPUs. One host thread drives each device and
// hands its class scores to the combiner on device 0.
#include <cuda_runtime.h>

#include <cstdio>
#include <future>
#include <memory>
#include <thread>
#include <vector>

static void must(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "cuda error line %d: %s\n", line, cudaGetErrorString(e));
    std::terminate();
  }
}
#define MUST(x) must((x), __LINE__)

struct DeviceFree {
  void operator()(float* p) const { cudaFree(p); }
};
using DevicePtr = std::unique_ptr<float, DeviceFree>;

static DevicePtr deviceAlloc(int dev, size_t n) {
  float* p = nullptr;
  MUST(cudaSetDevice(dev));
  MUST(cudaMalloc(&p, n * sizeof(float)));
  return DevicePtr(p);
}

__global__ void tabularForward(const float* rows, const float* params, float* scores, int nRows, int nClass) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= nRows) return;
  for (int c = 0; c < nClass; ++c) scores[r * nClass + c] = tanhf(rows[r] * params[c]);
}

__global__ void addScores(float* total, const float* part, float w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += w * part[i];
}

class Member {
 public:
  Member(int dev, int nRows, int nClass, const float* rows, const float* params)
      : dev_(dev), nRows_(nRows), nClass_(nClass), rows_(rows), params_(params) {
    scores_ = deviceAlloc(dev, size_t(nRows) * nClass);
    onRoot_ = deviceAlloc(0, size_t(nRows) * nClass);
    MUST(cudaSetDevice(dev));
    MUST(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Member() {
    cudaSetDevice(dev_);
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  const float* predict() {
    MUST(cudaSetDevice(dev_));
    const int n = nRows_ * nClass_;
    tabularForward<<<(nRows_ + 127) / 128, 128, 0, stream_>>>(rows_, params_, scores_.get(), nRows_, nClass_);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyPeerAsync(onRoot_.get(), 0, scores_.get(), dev_, n * sizeof(float), stream_));
    MUST(cudaStreamSynchronize(stream_));
    return onRoot_.get();
  }

 private:
  int dev_, nRows_, nClass_;
  const float* rows_;
  const float* params_;
  DevicePtr scores_, onRoot_;
  cudaStream_t stream_ = nullptr;
};

class Ensemble {
 public:
  Ensemble(int nRows, int nClass) : n_(nRows * nClass), nRows_(nRows), nClass_(nClass) {
    total_ = deviceAlloc(0, n_);
    MUST(cudaStreamCreateWithFlags(&combine_, cudaStreamNonBlocking));
  }
  ~Ensemble() {
    cudaSetDevice(0);
    cudaStreamSynchronize(combine_);
    cudaStreamDestroy(combine_);
  }

  void add(int dev, const float* rows, const float* params) {
    members_.push_back(std::make_unique<Member>(dev, nRows_, nClass_, rows, params));
  }

  std::vector<float> run() {
    std::vector<std::future<const float*>> pending;
    for (auto& m : members_)
      pending.push_back(std::async(std::launch::async, [p = m.get()] { return p->predict(); }));

    MUST(cudaSetDevice(0));
    MUST(cudaMemsetAsync(total_.get(), 0, n_ * sizeof(float), combine_));
    const float w = 1.f / static_cast<float>(members_.size());
    for (auto& f : pending) {
      const float* part = f.get();
      addScores<<<(n_ + 255) / 256, 256, 0, combine_>>>(total_.get(), part, w, n_);
      MUST(cudaGetLastError());
    }
    std::vector<float> host(n_);
    MUST(cudaMemcpyAsync(host.data(), total_.get(), n_ * sizeof(float), cudaMemcpyDeviceToHost, combine_));
    MUST(cudaStreamSynchronize(combine_));
    return host;
  }

 private:
  int n_, nRows_, nClass_;
  DevicePtr total_;
  cudaStream_t combine_ = nullptr;
  std::vector<std::unique_ptr<Member>> members_;
};
