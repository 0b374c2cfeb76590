// Encodes quote updates on the GPU and publishes them on a datagram socket. A host function tells
// the publisher thread that a packet in mapped memory is complete.
#include <cuda_runtime.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CK(x)                                                                      \
  do {                                                                             \
    cudaError_t e_ = (x);                                                          \
    if (e_ != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s (%d): %s\n", #x, __LINE__, cudaGetErrorString(e_)); \
      std::abort();                                                                \
    }                                                                              \
  } while (0)

constexpr int kQuotes = 300;

struct WireQuote {
  std::int32_t price;
};

__global__ void encode(const double* mid, WireQuote* packet, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) packet[i].price = static_cast<std::int32_t>(mid[i] * 10000.0);
}

class Publisher;

struct Packet {
  Publisher* owner = nullptr;
  double* mid_host = nullptr;
  double* mid_dev = nullptr;
  WireQuote* wire_host = nullptr;
  WireQuote* wire_dev = nullptr;
};

class Publisher {
 public:
  Publisher(int fd, int packets) : fd_(fd) {
    CK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int i = 0; i < packets; ++i) {
      auto p = std::make_unique<Packet>();
      p->owner = this;
      CK(cudaMallocHost(&p->mid_host, kQuotes * sizeof(double)));
      CK(cudaMalloc(&p->mid_dev, kQuotes * sizeof(double)));
      CK(cudaHostAlloc(&p->wire_host, kQuotes * sizeof(WireQuote), cudaHostAllocMapped));
      CK(cudaHostGetDevicePointer(&p->wire_dev, p->wire_host, 0));
      free_.push_back(p.get());
      packets_.push_back(std::move(p));
    }
    thread_ = std::thread(&Publisher::loop, this);
  }

  ~Publisher() {
    CK(cudaStreamSynchronize(stream_));
    {
      std::lock_guard<std::mutex> lk(m_);
      stop_ = true;
    }
    cv_.notify_all();
    thread_.join();
    for (auto& p : packets_) {
      cudaFreeHost(p->wire_host);
      cudaFree(p->mid_dev);
      cudaFreeHost(p->mid_host);
    }
    cudaStreamDestroy(stream_);
  }

  template <class Source>
  void publish(Source&& source) {
    Packet* p = take();
    for (int i = 0; i < kQuotes; ++i) p->mid_host[i] = source(i);
    enqueue(*p);
  }

 private:
  Packet* take() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return !free_.empty(); });
    Packet* p = free_.front();
    free_.pop_front();
    return p;
  }

  void enqueue(Packet& p) {
    CK(cudaMemcpyAsync(p.mid_dev, p.mid_host, kQuotes * sizeof(double), cudaMemcpyHostToDevice,
                       stream_));
    encode<<<(kQuotes + 63) / 64, 64, 0, stream_>>>(p.mid_dev, p.wire_dev, kQuotes);
    CK(cudaGetLastError());
    CK(cudaLaunchHostFunc(stream_, &Publisher::encoded, &p));
  }

  static void CUDART_CB encoded(void* arg) {
    auto* p = static_cast<Packet*>(arg);
    Publisher& self = *p->owner;
    std::lock_guard<std::mutex> lk(self.m_);
    self.ready_.push_back(p);
    self.cv_.notify_all();
  }

  void loop() {
    for (;;) {
      Packet* p = nullptr;
      {
        std::unique_lock<std::mutex> lk(m_);
        cv_.wait(lk, [this] { return stop_ || !ready_.empty(); });
        if (ready_.empty()) return;
        p = ready_.front();
        ready_.pop_front();
      }
      if (::send(fd_, p->wire_host, kQuotes * sizeof(WireQuote), 0) < 0) std::perror("send");
      {
        std::lock_guard<std::mutex> lk(m_);
        free_.push_back(p);
      }
      cv_.notify_all();
    }
  }

  int fd_;
  cudaStream_t stream_{};
  std::vector<std::unique_ptr<Packet>> packets_;
  std::mutex m_;
  std::condition_variable cv_;
  std::deque<Packet*> free_, ready_;
  bool stop_ = false;
  std::thread thread_;
};

int main() {
  int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9310);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  {
    Publisher pub(fd, 4);
    for (int t = 0; t < 5000; ++t) pub.publish([t](int i) { return 100.0 + 0.01 * i + 1e-4 * t; });
  }
  ::close(fd);
  return 0;
}
