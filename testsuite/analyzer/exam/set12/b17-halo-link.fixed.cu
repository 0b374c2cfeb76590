// Halo exchange between the subdomains of an ocean model over TCP.
//
// Rows are packed by a kernel straight into mapped host memory, so that no
// extra copy is needed before the bytes go to the socket.

#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>

namespace ocean {

inline void cu(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

struct Field {
  float* data;  // rows x pitch, device memory
  int rows;
  int pitch;
  int columns;
};

__global__ void pack_rows(Field f, int first, int count, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * f.columns) return;
  out[i] = f.data[static_cast<size_t>(first + i / f.columns) * f.pitch + i % f.columns];
}

__global__ void unpack_rows(Field f, int first, int count, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * f.columns) return;
  f.data[static_cast<size_t>(first + i / f.columns) * f.pitch + i % f.columns] = in[i];
}

__global__ void diffuse(Field now, Field next, float k) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= now.columns - 1 || y >= now.rows - 1) return;
  const float* p = now.data + static_cast<size_t>(y) * now.pitch + x;
  next.data[static_cast<size_t>(y) * next.pitch + x] = p[0] + k * (p[1] + p[-1] + p[now.pitch] + p[-now.pitch] - 4.0f * p[0]);
}

// Host memory that kernels address directly.
class MappedBuffer {
 public:
  explicit MappedBuffer(size_t floats) : bytes_(floats * sizeof(float)) {
    cu(cudaHostAlloc(reinterpret_cast<void**>(&host_), bytes_, cudaHostAllocMapped), "cudaHostAlloc");
    cu(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), host_, 0), "cudaHostGetDevicePointer");
  }
  ~MappedBuffer() { cudaFreeHost(host_); }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;
  float* host() const { return host_; }
  float* device() const { return device_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  float* host_ = nullptr;
  float* device_ = nullptr;
};

// Connection to one neighbour; takes over the socket.
class HaloLink {
 public:
  HaloLink(int fd, int width, int columns, cudaStream_t stream)
      : fd_(fd), width_(width), columns_(columns), stream_(stream),
        outgoing_(static_cast<size_t>(width) * columns), incoming_(static_cast<size_t>(width) * columns) {}
  ~HaloLink() {
    cudaStreamSynchronize(stream_);
    ::close(fd_);
  }
  HaloLink(const HaloLink&) = delete;
  HaloLink& operator=(const HaloLink&) = delete;

  // Queues the packing of `width` rows that start at `first`.
  void post(const Field& f, int first) {
    pack_rows<<<blocks(), 256, 0, stream_>>>(f, first, width_, outgoing_.device());
    cu(cudaGetLastError(), "pack_rows");
  }

  // Sends the packed rows to the neighbour.
  void deliver() {
    cu(cudaStreamSynchronize(stream_), "pack");
    write_all(reinterpret_cast<const char*>(outgoing_.host()), outgoing_.bytes());
  }

  // Receives the neighbour's rows into `width` rows that start at `first`.
  void collect(const Field& f, int first) {
    cu(cudaStreamSynchronize(stream_), "previous unpack");
    read_all(reinterpret_cast<char*>(incoming_.host()), incoming_.bytes());
    unpack_rows<<<blocks(), 256, 0, stream_>>>(f, first, width_, incoming_.device());
    cu(cudaGetLastError(), "unpack_rows");
  }

 private:
  unsigned blocks() const { return static_cast<unsigned>((width_ * columns_ + 255) / 256); }

  void write_all(const char* p, size_t n) {
    while (n > 0) {
      const ssize_t w = ::send(fd_, p, n, MSG_NOSIGNAL);
      if (w < 0 && errno == EINTR) continue;
      if (w <= 0) throw std::system_error(errno, std::generic_category(), "send");
      p += w;
      n -= static_cast<size_t>(w);
    }
  }

  void read_all(char* p, size_t n) {
    while (n > 0) {
      const ssize_t r = ::recv(fd_, p, n, 0);
      if (r < 0 && errno == EINTR) continue;
      if (r <= 0) throw std::system_error(errno, std::generic_category(), "recv");
      p += r;
      n -= static_cast<size_t>(r);
    }
  }

  int fd_, width_, columns_;
  cudaStream_t stream_;
  MappedBuffer outgoing_, incoming_;
};

// A subdomain with neighbours to the north and to the south.
class Subdomain {
 public:
  Subdomain(int north_fd, int south_fd, int columns, cudaStream_t stream)
      : stream_(stream), north_(north_fd, 1, columns, stream), south_(south_fd, 1, columns, stream) {}

  // One time step; both fields are used on the subdomain's stream only.
  void step(const Field& now, const Field& next, float k) {
    north_.post(now, 1);
    south_.post(now, now.rows - 2);
    north_.deliver();
    south_.deliver();
    north_.collect(now, 0);
    south_.collect(now, now.rows - 1);
    const dim3 block(32, 8);
    const dim3 grid((now.columns + 31) / 32, (now.rows + 7) / 8);
    diffuse<<<grid, block, 0, stream_>>>(now, next, k);
    cu(cudaGetLastError(), "diffuse");
  }

 private:
  cudaStream_t stream_;
  HaloLink north_, south_;
};

}  // namespace ocean
