#include <cuda_runtime.h>

#include <cstdio>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

// Stacking of seismograms: one worker per station filters its record, the stacker sums
// the filtered traces after moving them out by their travel time.

static void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void bandpass_kernel(const float* in, float* out, int n, float low, float high) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float fast = 0.f, slow = 0.f;
  for (int k = 0; k < 64 && k <= i; ++k) {
    fast += in[i - k] * expf(-high * k);
    slow += in[i - k] * expf(-low * k);
  }
  out[i] = high * fast - low * slow;
}

__global__ void stack_kernel(const float* trace, int shift, float* stack, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i + shift < n) stack[i] += trace[i + shift];
}

struct DeviceTrace {
  explicit DeviceTrace(int samples) : n(samples) { cu(cudaMalloc(&data, n * sizeof(float))); }
  ~DeviceTrace() { cudaFree(data); }
  DeviceTrace(const DeviceTrace&) = delete;
  DeviceTrace& operator=(const DeviceTrace&) = delete;
  float* data = nullptr;
  int n;
};
using TracePtr = std::unique_ptr<DeviceTrace>;

class PrivateStream {
 public:
  PrivateStream() { cu(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~PrivateStream() { cudaStreamDestroy(s_); }
  PrivateStream(const PrivateStream&) = delete;
  PrivateStream& operator=(const PrivateStream&) = delete;
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

struct Station {
  std::vector<float> record;
  int shift;
};

TracePtr filter_station(const Station& station) {
  PrivateStream stream;
  const int n = static_cast<int>(station.record.size());
  DeviceTrace raw(n);
  auto filtered = std::make_unique<DeviceTrace>(n);
  cu(cudaMemcpyAsync(raw.data, station.record.data(), n * sizeof(float), cudaMemcpyHostToDevice,
                     stream));
  bandpass_kernel<<<(n + 255) / 256, 256, 0, stream>>>(raw.data, filtered->data, n, 0.02f, 0.3f);
  cu(cudaGetLastError());
  return filtered;
}

class Stacker {
 public:
  explicit Stacker(int samples) : stack_(samples) {
    cu(cudaMemsetAsync(stack_.data, 0, samples * sizeof(float), stream_));
  }

  ~Stacker() { cudaStreamSynchronize(stream_); }

  void add(TracePtr trace, int shift) {
    stack_kernel<<<(stack_.n + 255) / 256, 256, 0, stream_>>>(trace->data, shift, stack_.data,
                                                              stack_.n);
    cu(cudaGetLastError());
    used_.push_back(std::move(trace));
  }

  std::vector<float> result() {
    std::vector<float> host(stack_.n);
    cu(cudaMemcpyAsync(host.data(), stack_.data, host.size() * sizeof(float),
                       cudaMemcpyDeviceToHost, stream_));
    cu(cudaStreamSynchronize(stream_));
    used_.clear();
    return host;
  }

 private:
  PrivateStream stream_;
  DeviceTrace stack_;
  std::vector<TracePtr> used_;
};

int main() {
  constexpr int kSamples = 1 << 17;
  std::vector<Station> network(6);
  for (size_t s = 0; s < network.size(); ++s) {
    network[s].shift = static_cast<int>(40 * s);
    network[s].record.resize(kSamples);
    for (int i = 0; i < kSamples; ++i) network[s].record[i] = ((i * 37 + s) % 211) * 0.01f - 1.f;
  }

  std::vector<std::future<TracePtr>> pending;
  for (const Station& st : network)
    pending.push_back(std::async(std::launch::async, filter_station, std::cref(st)));

  Stacker stacker(kSamples);
  for (size_t s = 0; s < network.size(); ++s) stacker.add(pending[s].get(), network[s].shift);
  const std::vector<float> beam = stacker.result();
  std::printf("beam[0] = %f\n", beam[0]);
  return 0;
}
