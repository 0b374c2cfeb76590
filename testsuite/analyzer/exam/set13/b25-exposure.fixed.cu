// Counterparty exposure: scenario batches are priced on a ring of streams, the
// netting kernel then reduces all batches on its own stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

namespace xva {

void check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorName(e));
  std::exit(1);
}
#define XVA(call) ::xva::check((call), __LINE__)

__global__ void priceBatch(float* exposure, int scenarios, float spot, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= scenarios) return;
  unsigned x = seed * 747796405u + i * 2891336453u;
  float s = spot;
  for (int t = 0; t < 120; ++t) {
    x = x * 1664525u + 1013904223u;
    s *= 1.0f + 0.02f * (float(x >> 8) * (1.0f / 16777216.0f) - 0.5f);
  }
  exposure[i] = fmaxf(s - spot, 0.0f);
}

__global__ void netBatches(const float* exposure, int scenarios, int batches, float* netted) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= scenarios) return;
  float sum = 0.f;
  for (int b = 0; b < batches; ++b) sum += exposure[b * scenarios + i];
  netted[i] = sum / batches;
}

class StreamRing {
 public:
  explicit StreamRing(std::size_t n) : streams_(n) {
    for (auto& s : streams_) XVA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~StreamRing() {
    for (auto s : streams_) cudaStreamDestroy(s);
  }
  StreamRing(const StreamRing&) = delete;
  StreamRing& operator=(const StreamRing&) = delete;
  cudaStream_t next() { return streams_[cursor_++ % streams_.size()]; }
  std::size_t size() const { return streams_.size(); }
  const std::vector<cudaStream_t>& all() const { return streams_; }

 private:
  std::vector<cudaStream_t> streams_;
  std::size_t cursor_ = 0;
};

// Collects what must have happened before the bucket may be read.
class Bucket {
 public:
  Bucket(int scenarios, int batches) : scenarios_(scenarios), batches_(batches) {
    XVA(cudaMalloc(&data_, sizeof(float) * scenarios * batches));
    filled_.resize(batches);
    for (auto& e : filled_) XVA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~Bucket() {
    for (auto e : filled_) cudaEventDestroy(e);
    cudaFree(data_);
  }
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  void fill(int batch, cudaStream_t stream, const std::function<void(float*, cudaStream_t)>& producer) {
    producer(data_ + std::size_t(batch) * scenarios_, stream);
    XVA(cudaEventRecord(filled_[batch], stream));
  }

  const float* acquire(cudaStream_t consumer) const {
    for (auto e : filled_) XVA(cudaStreamWaitEvent(consumer, e, 0));
    return data_;
  }

  int scenarios() const { return scenarios_; }
  int batches() const { return batches_; }

 private:
  int scenarios_;
  int batches_;
  float* data_ = nullptr;
  std::vector<cudaEvent_t> filled_;
};

void netExposure(const Bucket& bucket, float* netted, cudaStream_t stream) {
  const float* exposure = bucket.acquire(stream);
  netBatches<<<(bucket.scenarios() + 255) / 256, 256, 0, stream>>>(exposure, bucket.scenarios(),
                                                                   bucket.batches(), netted);
  XVA(cudaGetLastError());
}

}  // namespace xva

int main() {
  constexpr int kScenarios = 1 << 16;
  constexpr int kBatches = 12;

  xva::StreamRing ring(4);
  xva::Bucket bucket(kScenarios, kBatches);
  cudaStream_t netting = nullptr;
  XVA(cudaStreamCreateWithFlags(&netting, cudaStreamNonBlocking));
  float* netted = nullptr;
  XVA(cudaMalloc(&netted, sizeof(float) * kScenarios));

  for (int b = 0; b < kBatches; ++b) {
    bucket.fill(b, ring.next(), [b](float* out, cudaStream_t stream) {
      xva::priceBatch<<<(kScenarios + 255) / 256, 256, 0, stream>>>(out, kScenarios, 100.f + b, 17u + b);
      XVA(cudaGetLastError());
    });
  }
  xva::netExposure(bucket, netted, netting);

  std::vector<float> host(kScenarios);
  XVA(cudaMemcpyAsync(host.data(), netted, sizeof(float) * kScenarios, cudaMemcpyDeviceToHost, netting));
  XVA(cudaDeviceSynchronize());
  std::printf("EE = %f\n", std::accumulate(host.begin(), host.end(), 0.0) / kScenarios);

  XVA(cudaFree(netted));
  XVA(cudaStreamDestroy(netting));
  return 0;
}
