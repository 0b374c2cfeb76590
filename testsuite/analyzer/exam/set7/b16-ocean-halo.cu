// Shallow water strip model. Halo rows go through a host channel, as on the test cluster without RDMA.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#define OCEAN(x)                                                                    \
  do {                                                                              \
    cudaError_t e_ = (x);                                                           \
    if (e_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      std::exit(EXIT_FAILURE);                                                      \
    }                                                                               \
  } while (0)

// Transport between neighbouring strips. All pointers are host accessible.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual void sendReceive(const float* send, float* receive, size_t count) = 0;
};

// Periodic domain on one rank: what leaves at one side enters at the other one.
class LoopbackChannel : public Channel {
 public:
  void sendReceive(const float* send, float* receive, size_t count) override {
    wire_.resize(count);
    std::memcpy(wire_.data(), send, count * sizeof(float));
    std::memcpy(receive, wire_.data(), count * sizeof(float));
  }

 private:
  std::vector<float> wire_;
};

__global__ void packRow(const float* field, int row, int columns, float* out) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) out[c] = field[row * columns + c];
}

__global__ void unpackRow(float* field, int row, int columns, const float* in) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) field[row * columns + c] = in[c];
}

__global__ void relax(const float* from, float* to, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y + 1;
  if (c >= columns || r >= rows - 1) return;
  const int left = c == 0 ? columns - 1 : c - 1;
  const int right = c == columns - 1 ? 0 : c + 1;
  to[r * columns + c] = 0.2f * (from[r * columns + c] + from[r * columns + left] +
                                from[r * columns + right] + from[(r - 1) * columns + c] +
                                from[(r + 1) * columns + c]);
}

class Strip {
 public:
  Strip(int rows, int columns, std::unique_ptr<Channel> channel)
      : rows_(rows), columns_(columns), channel_(std::move(channel)) {
    OCEAN(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    OCEAN(cudaMalloc(&now_, bytes()));
    OCEAN(cudaMalloc(&next_, bytes()));
    OCEAN(cudaMallocManaged(&send_, sizeof(float) * columns));
    OCEAN(cudaMallocManaged(&receive_, sizeof(float) * columns));
  }
  ~Strip() {
    OCEAN(cudaStreamSynchronize(stream_));
    OCEAN(cudaFree(now_));
    OCEAN(cudaFree(next_));
    OCEAN(cudaFree(send_));
    OCEAN(cudaFree(receive_));
    OCEAN(cudaStreamDestroy(stream_));
  }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  void initialise(const std::vector<float>& surface) {
    OCEAN(cudaMemcpyAsync(now_, surface.data(), bytes(), cudaMemcpyHostToDevice, stream_));
    OCEAN(cudaMemcpyAsync(next_, now_, bytes(), cudaMemcpyDeviceToDevice, stream_));
    OCEAN(cudaStreamSynchronize(stream_));
  }

  void step() {
    exchange(rows_ - 2, 0);
    exchange(1, rows_ - 1);
    relax<<<dim3(blocks(), rows_ - 2), kThreads, 0, stream_>>>(now_, next_, rows_, columns_);
    OCEAN(cudaGetLastError());
    std::swap(now_, next_);
  }

  std::vector<float> surface() {
    std::vector<float> host(static_cast<size_t>(rows_) * columns_);
    OCEAN(cudaMemcpyAsync(host.data(), now_, bytes(), cudaMemcpyDeviceToHost, stream_));
    OCEAN(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  static constexpr int kThreads = 128;
  int blocks() const { return (columns_ + kThreads - 1) / kThreads; }
  size_t bytes() const { return sizeof(float) * rows_ * columns_; }

  void pack(int row) {
    packRow<<<blocks(), kThreads, 0, stream_>>>(now_, row, columns_, send_);
    OCEAN(cudaGetLastError());
  }

  void exchange(int fromRow, int toRow) {
    pack(fromRow);
    channel_->sendReceive(send_, receive_, columns_);
    unpackRow<<<blocks(), kThreads, 0, stream_>>>(now_, toRow, columns_, receive_);
    OCEAN(cudaGetLastError());
  }

  int rows_, columns_;
  std::unique_ptr<Channel> channel_;
  cudaStream_t stream_ = nullptr;
  float* now_ = nullptr;
  float* next_ = nullptr;
  float* send_ = nullptr;
  float* receive_ = nullptr;
};

int main() {
  const int rows = 258, columns = 1024;
  std::vector<float> initial(static_cast<size_t>(rows) * columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) initial[r * columns + c] = std::sin(0.05f * r) + 0.001f * c;

  Strip strip(rows, columns, std::make_unique<LoopbackChannel>());
  strip.initialise(initial);
  for (int s = 0; s < 100; ++s) strip.step();
  const std::vector<float> result = strip.surface();
  double mass = 0;
  for (float v : result) mass += v;
  std::printf("mass %.6f\n", mass);
  return 0;
}
