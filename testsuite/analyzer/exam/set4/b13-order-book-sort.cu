// Re-ranks the two sides of an order book on the GPU, bids and asks side by side.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace book {

inline void must(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Temporary storage for the device-wide algorithms, kept between calls.
class Workspace {
 public:
  ~Workspace() {
    for (auto& kv : blocks_) cudaFree(kv.second);
  }
  void* get(std::size_t bytes, cudaStream_t stream) {
    const auto key = round_up(bytes);
    auto it = blocks_.find(key);
    if (it == blocks_.end()) {
      void* p = nullptr;
      must(cudaMalloc(&p, round_up(bytes)));
      it = blocks_.emplace(key, p).first;
    }
    return it->second;
  }

 private:
  static std::size_t round_up(std::size_t b) { return (b + 0xffff) & ~std::size_t(0xffff); }
  std::map<std::size_t, void*> blocks_;
};

template <typename Invoke>
void with_storage(Workspace& ws, cudaStream_t stream, Invoke&& invoke) {
  std::size_t bytes = 0;
  must(invoke(nullptr, bytes));
  void* tmp = ws.get(bytes, stream);
  must(invoke(tmp, bytes));
}

struct Ascending {
  template <class... A>
  static cudaError_t sort(A... a) {
    return cub::DeviceRadixSort::SortPairs(a...);
  }
};
struct Descending {
  template <class... A>
  static cudaError_t sort(A... a) {
    return cub::DeviceRadixSort::SortPairsDescending(a...);
  }
};

template <class Order>
class Side {
 public:
  Side(Workspace& ws, int capacity) : ws_(ws), capacity_(capacity) {
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (auto p : {&price_in_, &price_out_, &qty_in_, &qty_out_, &depth_})
      must(cudaMalloc(p, capacity_ * sizeof(std::uint32_t)));
  }
  ~Side() {
    cudaStreamSynchronize(stream_);
    for (auto p : {price_in_, price_out_, qty_in_, qty_out_, depth_}) cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  Side(const Side&) = delete;

  void load(const std::uint32_t* price, const std::uint32_t* qty, int n) {
    n_ = n < capacity_ ? n : capacity_;
    must(cudaMemcpyAsync(price_in_, price, n_ * sizeof(std::uint32_t), cudaMemcpyHostToDevice, stream_));
    must(cudaMemcpyAsync(qty_in_, qty, n_ * sizeof(std::uint32_t), cudaMemcpyHostToDevice, stream_));
  }

  void rank() {
    with_storage(ws_, stream_, [&](void* tmp, std::size_t& bytes) {
      return Order::sort(tmp, bytes, price_in_, price_out_, qty_in_, qty_out_, n_, 0, 32, stream_);
    });
    with_storage(ws_, stream_, [&](void* tmp, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(tmp, bytes, qty_out_, depth_, n_, stream_);
    });
  }

  void store(std::uint32_t* price, std::uint32_t* depth) {
    must(cudaMemcpyAsync(price, price_out_, n_ * sizeof(std::uint32_t), cudaMemcpyDeviceToHost, stream_));
    must(cudaMemcpyAsync(depth, depth_, n_ * sizeof(std::uint32_t), cudaMemcpyDeviceToHost, stream_));
  }

  void wait() { must(cudaStreamSynchronize(stream_)); }

 private:
  Workspace& ws_;
  int capacity_, n_ = 0;
  cudaStream_t stream_{};
  std::uint32_t *price_in_{}, *price_out_{}, *qty_in_{}, *qty_out_{}, *depth_{};
};

struct Levels {
  std::vector<std::uint32_t> price, depth;
};

class Ranker {
 public:
  explicit Ranker(int capacity) : bids_(ws_, capacity), asks_(ws_, capacity) {}

  void update(const Levels& b, const Levels& a, Levels& outBids, Levels& outAsks) {
    bids_.load(b.price.data(), b.depth.data(), int(b.price.size()));
    asks_.load(a.price.data(), a.depth.data(), int(a.price.size()));
    bids_.rank();
    asks_.rank();
    bids_.store(outBids.price.data(), outBids.depth.data());
    asks_.store(outAsks.price.data(), outAsks.depth.data());
    bids_.wait();
    asks_.wait();
  }

 private:
  Workspace ws_;
  Side<Descending> bids_;
  Side<Ascending> asks_;
};

}  // namespace book

int main() {
  const int n = 1 << 20;
  book::Ranker ranker(n);
  book::Levels bids{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n, 1)}, asks = bids, rb = bids, ra = bids;
  for (int tick = 0; tick < 50; ++tick) {
    for (int i = 0; i < n; ++i) {
      bids.price[i] = std::uint32_t(i) * 2654435761u + tick;
      asks.price[i] = std::uint32_t(i) * 40503u + tick;
    }
    ranker.update(bids, asks, rb, ra);
  }
  std::printf("%u %u\n", rb.price[0], ra.price[0]);
}
