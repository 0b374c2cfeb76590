// Domain decomposition for the traffic simulator: every process owns a strip of the road network and trades the vehicles near
// its border with the neighbour over a stream socket once a step.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

namespace traffic {

void cuda_ok(cudaError_t rc, const char* where) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(rc));
}

struct Vehicle {
  float position;
  float speed;
  int lane;
  int id;
};

__global__ void advance(Vehicle* cars, int n, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cars[i].position += cars[i].speed * dt;
}

__global__ void outermost_cars(int* border, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) border[i] = i;
}

__global__ void pack_border(const Vehicle* cars, const int* border, Vehicle* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = cars[border[i]];
}

__global__ void follow_leaders(Vehicle* cars, const int* border, const Vehicle* ghosts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) cars[border[i]].speed = 0.9f * cars[border[i]].speed + 0.1f * ghosts[i].speed;
}

template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t n) : n_(n) {
    cuda_ok(cudaHostAlloc(reinterpret_cast<void**>(&host_), n * sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    cuda_ok(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), host_, 0), "cudaHostGetDevicePointer");
  }
  ~PinnedArray() { cudaFreeHost(host_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* host() { return host_; }
  T* device() { return device_; }
  std::size_t bytes() const { return n_ * sizeof(T); }

 private:
  std::size_t n_;
  T* host_ = nullptr;
  T* device_ = nullptr;
};

class Link {
 public:
  explicit Link(int fd) : fd_(fd) {}

  void send_all(const void* data, std::size_t bytes) {
    const char* p = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::send(fd_, p, bytes, MSG_NOSIGNAL);
      if (n < 0) throw std::system_error(errno, std::generic_category(), "send");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }

  void recv_all(void* data, std::size_t bytes) {
    char* p = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::recv(fd_, p, bytes, 0);
      if (n <= 0) throw std::system_error(errno, std::generic_category(), "recv");
      p += n;
      bytes -= static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_;
};

class Strip {
 public:
  Strip(int cars, int border, Link link) : cars_n_(cars), border_n_(border), link_(link), outgoing_(border), incoming_(border) {
    cuda_ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    cuda_ok(cudaMalloc(reinterpret_cast<void**>(&cars_), cars * sizeof(Vehicle)), "cudaMalloc");
    cuda_ok(cudaMalloc(reinterpret_cast<void**>(&border_), border * sizeof(int)), "cudaMalloc");
    cuda_ok(cudaMemsetAsync(cars_, 0, cars * sizeof(Vehicle), stream_), "cudaMemsetAsync");
    outermost_cars<<<blocks(border), 128, 0, stream_>>>(border_, border);
    cuda_ok(cudaGetLastError(), "outermost_cars");
  }
  ~Strip() {
    cudaStreamSynchronize(stream_);
    cudaFree(border_);
    cudaFree(cars_);
    cudaStreamDestroy(stream_);
  }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  void step(float dt) {
    advance<<<blocks(cars_n_), 128, 0, stream_>>>(cars_, cars_n_, dt);
    pack();
    exchange();
    follow_leaders<<<blocks(border_n_), 128, 0, stream_>>>(cars_, border_, incoming_.device(), border_n_);
    cuda_ok(cudaGetLastError(), "follow_leaders");
    cuda_ok(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

 private:
  static int blocks(int n) { return (n + 127) / 128; }

  void pack() {
    pack_border<<<blocks(border_n_), 128, 0, stream_>>>(cars_, border_, outgoing_.device(), border_n_);
    cuda_ok(cudaGetLastError(), "pack_border");
  }

  void exchange() {
    cuda_ok(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    link_.send_all(outgoing_.host(), outgoing_.bytes());
    link_.recv_all(incoming_.host(), incoming_.bytes());
  }

  int cars_n_;
  int border_n_;
  Link link_;
  PinnedArray<Vehicle> outgoing_;
  PinnedArray<Vehicle> incoming_;
  Vehicle* cars_ = nullptr;
  int* border_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace traffic

int main() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return 1;
  const pid_t child = ::fork();
  try {
    traffic::Strip strip(1 << 20, 1024, traffic::Link(child == 0 ? fds[0] : fds[1]));
    for (int i = 0; i < 100; ++i) strip.step(0.1f);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
