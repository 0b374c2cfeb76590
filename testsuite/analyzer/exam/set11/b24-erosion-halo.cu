// Hydraulic erosion of a large terrain, one process per strip. Edge rows travel over sockets; the edge rows
// of the device are packed straight into mapped host memory.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#define CK(expr)                                                                                  \
  do {                                                                                            \
    cudaError_t e_ = (expr);                                                                      \
    if (e_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(e_)); \
      std::abort();                                                                               \
    }                                                                                             \
  } while (0)

__global__ void erode(const float* in, float* out, int width, int rows, float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y + 1;  // row 0 and row rows+1 are ghosts
  if (x >= width || y > rows) return;
  float c = in[y * width + x];
  float up = in[(y - 1) * width + x], down = in[(y + 1) * width + x];
  float left = in[y * width + (x ? x - 1 : x)], right = in[y * width + (x + 1 < width ? x + 1 : x)];
  out[y * width + x] = c + rate * (up + down + left + right - 4.f * c);
}

__global__ void packRow(const float* row, float* dst, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) dst[x] = row[x];
}

class RowSocket {
 public:
  explicit RowSocket(int fd) : fd_(fd) {}
  RowSocket(const RowSocket&) = delete;
  ~RowSocket() { close(fd_); }
  void send(const float* row, int width) {
    const char* p = reinterpret_cast<const char*>(row);
    for (std::size_t left = width * sizeof(float); left > 0;) {
      ssize_t n = ::send(fd_, p, left, 0);
      if (n <= 0) std::abort();
      p += n;
      left -= static_cast<std::size_t>(n);
    }
  }
  void receive(float* row, int width) {
    char* p = reinterpret_cast<char*>(row);
    for (std::size_t left = width * sizeof(float); left > 0;) {
      ssize_t n = ::recv(fd_, p, left, 0);
      if (n <= 0) std::abort();
      p += n;
      left -= static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_;
};

// A row in page-locked memory, visible to both sides.
class MappedRow {
 public:
  explicit MappedRow(int width) {
    CK(cudaHostAlloc(reinterpret_cast<void**>(&host_), width * sizeof(float), cudaHostAllocMapped));
    CK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&dev_), host_, 0));
  }
  MappedRow(const MappedRow&) = delete;
  ~MappedRow() { cudaFreeHost(host_); }
  float* host() const { return host_; }
  float* device() const { return dev_; }

 private:
  float* host_ = nullptr;
  float* dev_ = nullptr;
};

class Strip {
 public:
  Strip(int width, int rows, bool upper, int fd)
      : width_(width), rows_(rows), upper_(upper), link_(fd), outgoing_(width), incoming_(width) {
    CK(cudaStreamCreate(&stream_));
    for (float*& g : grid_) {
      CK(cudaMalloc(&g, cells() * sizeof(float)));
      CK(cudaMemsetAsync(g, 0, cells() * sizeof(float), stream_));
    }
  }
  ~Strip() {
    cudaStreamSynchronize(stream_);
    for (float* g : grid_) cudaFree(g);
    cudaStreamDestroy(stream_);
  }

  void stepAndSend(float rate) {
    dim3 blocks((width_ + 255) / 256, rows_);
    erode<<<blocks, 256, 0, stream_>>>(grid_[cur_], grid_[cur_ ^ 1], width_, rows_, rate);
    cur_ ^= 1;
    pack();
    CK(cudaGetLastError());
    link_.send(outgoing_.host(), width_);
  }

  void receiveGhost() {
    link_.receive(incoming_.host(), width_);
    CK(cudaMemcpyAsync(ghostRow(), incoming_.host(), width_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CK(cudaStreamSynchronize(stream_));
  }

 private:
  std::size_t cells() const { return static_cast<std::size_t>(width_) * (rows_ + 2); }
  // The lower strip lies below the upper one: their shared border is row `rows_` of the upper, row 1 of the lower.
  float* edgeRow() const { return grid_[cur_] + static_cast<std::size_t>(width_) * (upper_ ? rows_ : 1); }
  float* ghostRow() const { return grid_[cur_] + static_cast<std::size_t>(width_) * (upper_ ? rows_ + 1 : 0); }

  void pack() { packRow<<<(width_ + 255) / 256, 256, 0, stream_>>>(edgeRow(), outgoing_.device(), width_); }

  int width_, rows_;
  bool upper_;
  RowSocket link_;
  MappedRow outgoing_, incoming_;
  float* grid_[2] = {};
  int cur_ = 0;
  cudaStream_t stream_ = nullptr;
};

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0) return 1;
  Strip top(2048, 512, true, fd[0]);
  Strip bottom(2048, 512, false, fd[1]);
  for (int s = 0; s < steps; ++s) {
    top.stepAndSend(0.1f);
    bottom.stepAndSend(0.1f);
    top.receiveGhost();
    bottom.receiveGhost();
  }
  std::printf("%d steps done\n", steps);
}
