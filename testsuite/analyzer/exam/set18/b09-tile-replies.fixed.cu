// Map tile server: a render thread shades tiles on the GPU, a sender thread
// writes finished images to the client connection.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#define TILE_CUDA(x)                                                                 \
  if (cudaError_t err = (x); err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err))

constexpr int kTile = 256;
constexpr size_t kImageBytes = size_t(kTile) * kTile;

struct TileId {
  int x, y, zoom;
};

class PinnedImage {
 public:
  PinnedImage() { TILE_CUDA(cudaMallocHost(&pixels_, kImageBytes)); }
  PinnedImage(PinnedImage&& o) noexcept : pixels_(std::exchange(o.pixels_, nullptr)) {}
  PinnedImage& operator=(PinnedImage&& o) noexcept { std::swap(pixels_, o.pixels_); return *this; }
  ~PinnedImage() { if (pixels_) cudaFreeHost(pixels_); }
  unsigned char* pixels() const { return pixels_; }

 private:
  unsigned char* pixels_ = nullptr;
};

struct Reply {
  TileId id;
  PinnedImage image;
};

class ReplyQueue {
 public:
  void push(Reply r) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      items_.push_back(std::move(r));
    }
    cv_.notify_one();
  }
  void close() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    cv_.notify_all();
  }
  std::optional<Reply> pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    cv_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<Reply> r(std::move(items_.front()));
    items_.pop_front();
    return r;
  }

 private:
  std::mutex mutex_;
  std::condition_variable cv_;
  std::deque<Reply> items_;
  bool closed_ = false;
};

__global__ void shade(unsigned char* out, TileId id) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kTile || y >= kTile) return;
  float u = (id.x + x / float(kTile)) / float(1 << id.zoom);
  float v = (id.y + y / float(kTile)) / float(1 << id.zoom);
  float h = 0.5f + 0.25f * (sinf(40.0f * u) + cosf(37.0f * v));
  out[y * kTile + x] = static_cast<unsigned char>(255.0f * h);
}

class Renderer {
 public:
  explicit Renderer(ReplyQueue& out) : out_(out) {
    TILE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TILE_CUDA(cudaMalloc(&canvas_, kImageBytes));
  }
  ~Renderer() {
    cudaStreamSynchronize(stream_);
    cudaFree(canvas_);
    cudaStreamDestroy(stream_);
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  void handle(TileId id) {
    dim3 block(32, 8), grid(kTile / 32, kTile / 8);
    shade<<<grid, block, 0, stream_>>>(canvas_, id);
    TILE_CUDA(cudaGetLastError());
    Reply reply{id, PinnedImage()};
    fetch(reply.image);
    out_.push(std::move(reply));
  }

 private:
  void fetch(PinnedImage& image) {
    TILE_CUDA(cudaMemcpyAsync(image.pixels(), canvas_, kImageBytes, cudaMemcpyDeviceToHost, stream_));
    TILE_CUDA(cudaStreamSynchronize(stream_));
  }

  ReplyQueue& out_;
  cudaStream_t stream_ = nullptr;
  unsigned char* canvas_ = nullptr;
};

void sendAll(ReplyQueue& replies, std::FILE* connection) {
  while (auto reply = replies.pop()) {
    std::fprintf(connection, "TILE %d %d %d\n", reply->id.zoom, reply->id.x, reply->id.y);
    std::fwrite(reply->image.pixels(), 1, kImageBytes, connection);
  }
}

void serve(const std::vector<TileId>& requests, std::FILE* connection) {
  ReplyQueue replies;
  std::thread sender(sendAll, std::ref(replies), connection);
  {
    Renderer renderer(replies);
    for (TileId id : requests) renderer.handle(id);
  }
  replies.close();
  sender.join();
}
