#include <cub/cub.cuh>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

// Trigger farm: hits of one readout window are time ordered while the gate lengths of the
// following window are already being summed up.

#define GUARD(x)                                                                    \
  do {                                                                              \
    cudaError_t g_ = (x);                                                           \
    if (g_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorName(g_)); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

namespace daq {

class Workspaces {
 public:
  ~Workspaces() {
    for (auto& kv : blocks_) cudaFree(kv.second);
  }

  void* get(std::size_t bytes) {
    int device = 0;
    GUARD(cudaGetDevice(&device));
    const auto key = std::make_tuple(device, round_up(bytes));
    auto it = blocks_.find(key);
    if (it == blocks_.end()) {
      void* p = nullptr;
      GUARD(cudaMalloc(&p, round_up(bytes)));
      it = blocks_.emplace(key, p).first;
    }
    return it->second;
  }

 private:
  static std::size_t round_up(std::size_t b) {
    constexpr std::size_t unit = std::size_t(32) << 20;
    return (b + unit - 1) / unit * unit;
  }
  std::map<std::tuple<int, std::size_t>, void*> blocks_;
};

struct Window {
  std::uint64_t* stamp[2];
  std::uint32_t* gate;
  std::uint32_t* gate_start;
  int hits;
};

Window window_open(int hits) {
  Window w{};
  w.hits = hits;
  for (auto& s : w.stamp) GUARD(cudaMalloc(&s, sizeof(std::uint64_t) * hits));
  GUARD(cudaMalloc(&w.gate, sizeof(std::uint32_t) * hits));
  GUARD(cudaMalloc(&w.gate_start, sizeof(std::uint32_t) * hits));
  return w;
}

void window_close(Window& w) {
  for (auto& s : w.stamp) GUARD(cudaFree(s));
  GUARD(cudaFree(w.gate));
  GUARD(cudaFree(w.gate_start));
}

__global__ void synthesise(std::uint64_t* stamp, std::uint32_t* gate, int n, std::uint64_t salt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  std::uint64_t x = (i + salt) * 0xbf58476d1ce4e5b9ull;
  stamp[i] = x ^ (x >> 29);
  gate[i] = 1 + (x & 15);
}

void digitise(Window& w, std::uint64_t salt, cudaStream_t s) {
  synthesise<<<(w.hits + 255) / 256, 256, 0, s>>>(w.stamp[0], w.gate, w.hits, salt);
  GUARD(cudaGetLastError());
}

void order_hits(Workspaces& ws, Window& w, cudaStream_t s) {
  std::size_t bytes = 0;
  GUARD(cub::DeviceRadixSort::SortKeys(nullptr, bytes, w.stamp[0], w.stamp[1], w.hits, 0, 64, s));
  void* tmp = ws.get(bytes);
  GUARD(cub::DeviceRadixSort::SortKeys(tmp, bytes, w.stamp[0], w.stamp[1], w.hits, 0, 64, s));
}

void sum_gates(Workspaces& ws, Window& w, cudaStream_t s) {
  std::size_t bytes = 0;
  GUARD(cub::DeviceScan::ExclusiveSum(nullptr, bytes, w.gate, w.gate_start, w.hits, s));
  void* tmp = ws.get(bytes);
  GUARD(cub::DeviceScan::ExclusiveSum(tmp, bytes, w.gate, w.gate_start, w.hits, s));
}

}  // namespace daq

int main() {
  constexpr int kHits = 1 << 21;
  daq::Workspaces ws;
  daq::Window odd = daq::window_open(kHits), even = daq::window_open(kHits);
  cudaStream_t sort_lane, scan_lane;
  GUARD(cudaStreamCreateWithFlags(&sort_lane, cudaStreamNonBlocking));
  GUARD(cudaStreamCreateWithFlags(&scan_lane, cudaStreamNonBlocking));
  for (int n = 0; n < 50; ++n) {
    daq::digitise(odd, n, sort_lane);
    daq::digitise(even, n + 7, scan_lane);
    daq::order_hits(ws, odd, sort_lane);
    daq::sum_gates(ws, even, scan_lane);
    GUARD(cudaStreamSynchronize(sort_lane));
    GUARD(cudaStreamSynchronize(scan_lane));
    std::swap(odd, even);
  }
  std::uint64_t first = 0;
  GUARD(cudaMemcpy(&first, even.stamp[1], sizeof first, cudaMemcpyDeviceToHost));
  std::printf("%llu\n", static_cast<unsigned long long>(first));
  GUARD(cudaStreamDestroy(sort_lane));
  GUARD(cudaStreamDestroy(scan_lane));
  daq::window_close(odd);
  daq::window_close(even);
}
