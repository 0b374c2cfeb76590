// Stream-ordered memory that travels: allocated on the stream of the producer,
// used on a second one, given back on whichever stream used it last.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define POOL_OK(x)                                                       \
  do {                                                                   \
    cudaError_t r = (x);                                                 \
    if (r != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(r));       \
      std::abort();                                                      \
    }                                                                    \
  } while (0)

class OrderEdge {
 public:
  OrderEdge() { POOL_OK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~OrderEdge() { cudaEventDestroy(event_); }
  OrderEdge(const OrderEdge&) = delete;
  OrderEdge& operator=(const OrderEdge&) = delete;
  void operator()(cudaStream_t from, cudaStream_t to) {
    if (from == to) return;
    POOL_OK(cudaEventRecord(event_, from));
    POOL_OK(cudaStreamWaitEvent(to, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Knows the stream on which its contents may be touched at present.
class Relay {
 public:
  Relay(size_t floats, cudaStream_t home) : size_(floats), at_(home) {
    POOL_OK(cudaMallocAsync(reinterpret_cast<void**>(&data_), floats * sizeof(float), home));
  }
  Relay(Relay&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(o.size_), at_(o.at_) {}
  Relay& operator=(Relay&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(at_, o.at_);
    return *this;
  }
  ~Relay() {
    if (data_) cudaFreeAsync(data_, at_);
  }

  // From now on the array belongs to `to`; earlier users are done by then.
  void moveTo(cudaStream_t to, OrderEdge& edge) {
    edge(at_, to);
    at_ = to;
  }
  float* data() const { return data_; }
  int size() const { return static_cast<int>(size_); }
  cudaStream_t stream() const { return at_; }

 private:
  float* data_ = nullptr;
  size_t size_;
  cudaStream_t at_;
};

__global__ void ramp(float* a, int n, float slope) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = slope * i;
}

__global__ void smooth(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float l = a[i > 0 ? i - 1 : i], r = a[i < n - 1 ? i + 1 : i];
  b[i] = 0.25f * l + 0.5f * a[i] + 0.25f * r;
}

__global__ void addInto(float* acc, const float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += a[i];
}

static int blocks(int n) { return (n + 127) / 128; }

static Relay produce(int n, float slope, cudaStream_t s) {
  Relay r(n, s);
  ramp<<<blocks(n), 128, 0, s>>>(r.data(), n, slope);
  POOL_OK(cudaGetLastError());
  return r;
}

// Consumes its argument: the input is given back on the stream that read it.
static Relay refine(Relay in, cudaStream_t worker, OrderEdge& edge) {
  in.moveTo(worker, edge);
  Relay out(in.size(), worker);
  smooth<<<blocks(in.size()), 128, 0, worker>>>(in.data(), out.data(), in.size());
  POOL_OK(cudaGetLastError());
  return out;
}

int main() {
  constexpr int kN = 1 << 18, kItems = 24;
  cudaStream_t producer, worker[2], sink;
  POOL_OK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
  POOL_OK(cudaStreamCreateWithFlags(&worker[0], cudaStreamNonBlocking));
  POOL_OK(cudaStreamCreateWithFlags(&worker[1], cudaStreamNonBlocking));
  POOL_OK(cudaStreamCreateWithFlags(&sink, cudaStreamNonBlocking));
  std::vector<float> host(kN);
  {
    OrderEdge edge;
    Relay total(kN, sink);
    POOL_OK(cudaMemsetAsync(total.data(), 0, kN * sizeof(float), sink));
    for (int i = 0; i < kItems; ++i) {
      Relay item = refine(produce(kN, 0.5f * i, producer), worker[i % 2], edge);
      item.moveTo(sink, edge);
      addInto<<<blocks(kN), 128, 0, sink>>>(total.data(), item.data(), kN);
      POOL_OK(cudaGetLastError());
    }
    POOL_OK(cudaMemcpyAsync(host.data(), total.data(), kN * sizeof(float), cudaMemcpyDeviceToHost, sink));
    POOL_OK(cudaStreamSynchronize(sink));
  }
  for (cudaStream_t s : {producer, worker[0], worker[1], sink}) {
    POOL_OK(cudaStreamSynchronize(s));
    POOL_OK(cudaStreamDestroy(s));
  }
  std::printf("last value %f\n", host.back());
  return 0;
}
