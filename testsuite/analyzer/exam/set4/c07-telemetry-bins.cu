// Latency telemetry: samples arrive in bursts, are sorted on the GPU and reduced to percentiles.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace telemetry {

inline void verify(cudaError_t e, const char* expr) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(expr) + " " + cudaGetErrorString(e));
}
#define VERIFY(e) ::telemetry::verify((e), #e)

template <typename T>
class Staging {
 public:
  Staging(std::size_t n, cudaStream_t s) : stream_(s) {
    VERIFY(cudaMallocHost(&host_, n * sizeof(T)));
    VERIFY(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
  }
  ~Staging() {
    cudaEventSynchronize(consumed_);
    cudaEventDestroy(consumed_);
    cudaFreeHost(host_);
  }
  Staging(const Staging&) = delete;

  T* claim() {
    VERIFY(cudaEventSynchronize(consumed_));
    return host_;
  }
  void send(T* device, std::size_t n) {
    VERIFY(cudaMemcpyAsync(device, host_, n * sizeof(T), cudaMemcpyHostToDevice, stream_));
    VERIFY(cudaEventRecord(consumed_, stream_));
  }

 private:
  cudaStream_t stream_;
  T* host_ = nullptr;
  cudaEvent_t consumed_{};
};

struct PickPercentile {
  const std::uint32_t* sorted;
  int n;
  __host__ __device__ std::uint32_t operator()(int pct) const { return sorted[(long long)(n - 1) * pct / 100]; }
};

struct StreamOwner {
  cudaStream_t s{};
  StreamOwner() { VERIFY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); }
  ~StreamOwner() { cudaStreamDestroy(s); }
};

class Percentiles {
 public:
  explicit Percentiles(int n) : n_(n), keys_(n), spare_(n), table_(101) {
    for (auto& b : staging_) b = std::make_unique<Staging<std::uint32_t>>(n, owner_.s);
    cub::DoubleBuffer<std::uint32_t> probe(raw(keys_), raw(spare_));
    VERIFY(cub::DeviceRadixSort::SortKeys(nullptr, tempBytes_, probe, n_));
    temp_.resize(tempBytes_);
  }
  ~Percentiles() { cudaStreamSynchronize(owner_.s); }

  std::uint32_t* nextBurst() {
    turn_ ^= 1;
    return staging_[turn_]->claim();
  }

  void submit() {
    cub::DoubleBuffer<std::uint32_t> buf(raw(keys_), raw(spare_));
    staging_[turn_]->send(buf.Current(), n_);
    std::size_t bytes = tempBytes_;
    VERIFY(cub::DeviceRadixSort::SortKeys(raw(temp_), bytes, buf, n_, 0, 32, owner_.s));
    thrust::transform(thrust::cuda::par_nosync.on(owner_.s), thrust::counting_iterator<int>(0),
                      thrust::counting_iterator<int>(101), table_.begin(), PickPercentile{buf.Current(), n_});
  }

  std::vector<std::uint32_t> read() {
    std::vector<std::uint32_t> out(table_.size());
    VERIFY(cudaMemcpyAsync(out.data(), raw(table_), out.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost, owner_.s));
    VERIFY(cudaStreamSynchronize(owner_.s));
    return out;
  }

 private:
  template <class V>
  static typename V::value_type* raw(V& v) {
    return thrust::raw_pointer_cast(v.data());
  }

  int n_;
  StreamOwner owner_;
  thrust::device_vector<std::uint32_t> keys_, spare_, table_;
  thrust::device_vector<unsigned char> temp_;
  std::size_t tempBytes_ = 0;
  std::array<std::unique_ptr<Staging<std::uint32_t>>, 2> staging_;
  int turn_ = 0;
};

}  // namespace telemetry

int main() {
  const int n = 1 << 21;
  telemetry::Percentiles p(n);
  for (int burst = 0; burst < 40; ++burst) {
    std::uint32_t* dst = p.nextBurst();
    for (int i = 0; i < n; ++i) dst[i] = (std::uint32_t(i) * 2246822519u) >> (burst % 8);
    p.submit();
    if (burst % 10 == 9) {
      auto q = p.read();
      std::printf("p50 %u p99 %u\n", q[50], q[99]);
    }
  }
}
