// Streams compressed lidar sweeps to the fleet gateway over UDP.
#include <cuda_runtime.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#define CU(expr)                                                                  \
  do {                                                                            \
    cudaError_t err_ = (expr);                                                    \
    if (err_ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::abort();                                                               \
    }                                                                             \
  } while (0)

constexpr int kPoints = 32768;
constexpr int kSlots = 4;

struct Packed {
  std::uint16_t range;
  std::uint8_t ring;
  std::uint8_t intensity;
};

__global__ void pack_sweep(const float4* raw, Packed* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = raw[i];
  float r = sqrtf(p.x * p.x + p.y * p.y + p.z * p.z);
  out[i] = {static_cast<std::uint16_t>(fminf(r * 250.f, 65535.f)),
            static_cast<std::uint8_t>(i & 63), static_cast<std::uint8_t>(p.w * 255.f)};
}

struct SweepSlot {
  float4* raw_host = nullptr;
  float4* raw_dev = nullptr;
  Packed* wire_host = nullptr;  // mapped: the kernel writes it over PCIe
  Packed* wire_dev = nullptr;
  cudaEvent_t ready{};
};

template <class T>
class BlockingQueue {
 public:
  void push(T v) {
    {
      std::lock_guard<std::mutex> lk(m_);
      q_.push_back(v);
    }
    cv_.notify_one();
  }
  T pop() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return !q_.empty(); });
    T v = q_.front();
    q_.pop_front();
    return v;
  }

 private:
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<T> q_;
};

class SweepUplink {
 public:
  explicit SweepUplink(int fd) : fd_(fd) {
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int i = 0; i < kSlots; ++i) {
      SweepSlot& s = slots_[i];
      CU(cudaMallocHost(&s.raw_host, kPoints * sizeof(float4)));
      CU(cudaMalloc(&s.raw_dev, kPoints * sizeof(float4)));
      CU(cudaHostAlloc(&s.wire_host, kPoints * sizeof(Packed), cudaHostAllocMapped));
      CU(cudaHostGetDevicePointer(&s.wire_dev, s.wire_host, 0));
      CU(cudaEventCreateWithFlags(&s.ready, cudaEventDisableTiming));
      free_.push(i);
    }
    sender_ = std::thread([this] { send_loop(); });
  }

  ~SweepUplink() {
    outbox_.push(-1);
    sender_.join();
    CU(cudaStreamSynchronize(stream_));
    for (SweepSlot& s : slots_) {
      cudaEventDestroy(s.ready);
      cudaFreeHost(s.wire_host);
      cudaFree(s.raw_dev);
      cudaFreeHost(s.raw_host);
    }
    cudaStreamDestroy(stream_);
  }

  template <class Fill>
  void publish(Fill&& fill) {
    int id = free_.pop();
    SweepSlot& s = slots_[id];
    fill(s.raw_host);
    stage(s);
    compress(s);
    outbox_.push(id);
  }

 private:
  void stage(SweepSlot& s) {
    CU(cudaMemcpyAsync(s.raw_dev, s.raw_host, kPoints * sizeof(float4), cudaMemcpyHostToDevice,
                       stream_));
  }

  void compress(SweepSlot& s) {
    pack_sweep<<<(kPoints + 255) / 256, 256, 0, stream_>>>(s.raw_dev, s.wire_dev, kPoints);
    CU(cudaGetLastError());
    CU(cudaEventRecord(s.ready, stream_));
  }

  void send_loop() {
    constexpr std::size_t kDatagram = 1400;
    for (;;) {
      int id = outbox_.pop();
      if (id < 0) return;
      SweepSlot& s = slots_[id];
      CU(cudaEventSynchronize(s.ready));
      const char* bytes = reinterpret_cast<const char*>(s.wire_host);
      const std::size_t total = kPoints * sizeof(Packed);
      for (std::size_t off = 0; off < total; off += kDatagram) {
        std::size_t n = total - off < kDatagram ? total - off : kDatagram;
        if (::send(fd_, bytes + off, n, 0) < 0) break;
      }
      free_.push(id);
    }
  }

  int fd_;
  cudaStream_t stream_{};
  std::array<SweepSlot, kSlots> slots_{};
  BlockingQueue<int> free_;
  BlockingQueue<int> outbox_;
  std::thread sender_;
};

int main() {
  int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in gw{};
  gw.sin_family = AF_INET;
  gw.sin_port = htons(7502);
  gw.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(fd, reinterpret_cast<sockaddr*>(&gw), sizeof gw);
  {
    SweepUplink link(fd);
    for (int sweep = 0; sweep < 100; ++sweep) {
      link.publish([&](float4* p) {
        for (int i = 0; i < kPoints; ++i) p[i] = make_float4(i * 0.01f, sweep * 0.1f, 1.f, 0.5f);
      });
    }
  }
  ::close(fd);
  return 0;
}
