// De-Bayering stage of a camera pipeline with a small set of output frames.
// Consumers copy a frame away on a stream of their own and give it back.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#define STAGE_TRY(x)                                                        \
  if (cudaError_t err__ = (x); err__ != cudaSuccess) {                      \
    std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(err__)); \
    std::exit(EXIT_FAILURE);                                                \
  }

namespace cam {

struct Size {
  int width, height;
  std::size_t pixels() const { return std::size_t(width) * height; }
};

__global__ void debayer(const std::uint16_t* raw, uchar4* rgba, int width, int height, int gain) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int bx = min(x & ~1, width - 2);
  const int by = min(y & ~1, height - 2);
  const int r = raw[by * width + bx] * gain >> 8;
  const int g = (raw[by * width + bx + 1] + raw[(by + 1) * width + bx]) * gain >> 9;
  const int b = raw[(by + 1) * width + bx + 1] * gain >> 8;
  rgba[y * width + x] = make_uchar4(min(r, 255), min(g, 255), min(b, 255), 255);
}

class Frame {
 public:
  explicit Frame(Size size) : size_(size) {
    STAGE_TRY(cudaMalloc(&pixels_, size.pixels() * sizeof(uchar4)));
    STAGE_TRY(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~Frame() {
    cudaEventDestroy(ready_);
    cudaFree(pixels_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  uchar4* pixels() const { return pixels_; }
  cudaEvent_t ready() const { return ready_; }
  std::size_t bytes() const { return size_.pixels() * sizeof(uchar4); }

 private:
  Size size_;
  uchar4* pixels_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

class DebayerStage {
 public:
  DebayerStage(Size size, int frames) : size_(size) {
    STAGE_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (int i = 0; i < frames; ++i) {
      frames_.push_back(std::make_unique<Frame>(size));
      free_.push_back(frames_.back().get());
    }
  }
  ~DebayerStage() {
    cudaDeviceSynchronize();
    frames_.clear();
    cudaStreamDestroy(stream_);
  }

  // raw stays valid for the life of the stage.
  Frame* next(const std::uint16_t* raw, int gain) {
    if (free_.empty()) return nullptr;
    Frame* frame = free_.front();
    free_.pop_front();
    const dim3 block(32, 8);
    const dim3 grid((size_.width + 31) / 32, (size_.height + 7) / 8);
    debayer<<<grid, block, 0, stream_>>>(raw, frame->pixels(), size_.width, size_.height, gain);
    STAGE_TRY(cudaGetLastError());
    STAGE_TRY(cudaEventRecord(frame->ready(), stream_));
    return frame;
  }

  void copyOut(const Frame& frame, uchar4* target, cudaStream_t consumer) const {
    STAGE_TRY(cudaStreamWaitEvent(consumer, frame.ready(), 0));
    STAGE_TRY(cudaMemcpyAsync(target, frame.pixels(), frame.bytes(), cudaMemcpyDeviceToDevice,
                              consumer));
  }

  void release(Frame* frame) { free_.push_back(frame); }

 private:
  Size size_;
  cudaStream_t stream_ = nullptr;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::deque<Frame*> free_;
};

}  // namespace cam

int main() {
  const cam::Size size{2048, 1536};
  constexpr int kShots = 48;

  std::uint16_t* raw = nullptr;
  uchar4* archive = nullptr;
  STAGE_TRY(cudaMalloc(&raw, size.pixels() * sizeof(std::uint16_t)));
  STAGE_TRY(cudaMalloc(&archive, kShots * size.pixels() * sizeof(uchar4)));
  STAGE_TRY(cudaMemset(raw, 3, size.pixels() * sizeof(std::uint16_t)));
  STAGE_TRY(cudaDeviceSynchronize());

  cudaStream_t writer = nullptr;
  STAGE_TRY(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  {
    cam::DebayerStage stage(size, 2);
    for (int shot = 0; shot < kShots; ++shot) {
      cam::Frame* frame = stage.next(raw, 200 + shot);
      stage.copyOut(*frame, archive + shot * size.pixels(), writer);
      stage.release(frame);
    }
    STAGE_TRY(cudaStreamSynchronize(writer));
  }

  uchar4 probe{};
  STAGE_TRY(cudaMemcpy(&probe, archive + size.pixels(), sizeof(probe), cudaMemcpyDeviceToHost));
  std::printf("shot 1, pixel 0: %d %d %d\n", probe.x, probe.y, probe.z);
  cudaStreamDestroy(writer);
  cudaFree(archive);
  cudaFree(raw);
  return EXIT_SUCCESS;
}
