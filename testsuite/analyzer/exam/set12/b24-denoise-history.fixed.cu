// Interactive path tracer: denoising and frame history.
//
// The denoiser is a recorded graph that always writes the same output image.  Finished images are kept in a
// ring for temporal replay in the viewer; keeping them happens on a stream of its own so that the next frame
// does not have to queue up behind the copies.
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rt {

class CudaError : public std::runtime_error {
 public:
  explicit CudaError(cudaError_t e) : std::runtime_error(cudaGetErrorString(e)) {}
};

inline void chk(cudaError_t e) {
  if (e != cudaSuccess) throw CudaError(e);
}

class Stream {
 public:
  Stream() { chk(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return s_; }
  void sync() const { chk(cudaStreamSynchronize(s_)); }

 private:
  cudaStream_t s_ = nullptr;
};

class Event {
 public:
  Event() { chk(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& s) { chk(cudaEventRecord(e_, s)); }
  void block(const Stream& s) const { chk(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_ = nullptr;
};

class Image {
 public:
  Image(int w, int h) : bytes_(std::size_t(w) * h * sizeof(float4)) { chk(cudaMalloc(&p_, bytes_)); }
  ~Image() { cudaFree(p_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  float4* get() const { return p_; }
  std::size_t bytes() const { return bytes_; }

 private:
  float4* p_ = nullptr;
  std::size_t bytes_;
};

__global__ void trace(float4* noisy, int w, int h, std::uint32_t* frame) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= w || y >= h) return;
  std::uint32_t seed = (x * 1973u + y * 9277u + *frame * 26699u) | 1u;
  seed ^= seed << 13;
  seed ^= seed >> 17;
  float n = (seed & 0xffffu) / 65535.f;
  noisy[y * w + x] = make_float4(n * x / w, n * y / h, n, 1.f);
}

__global__ void bilateral(const float4* noisy, float4* beauty, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= w || y >= h) return;
  float4 sum = make_float4(0.f, 0.f, 0.f, 0.f);
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      int sx = x + dx < 0 ? 0 : (x + dx >= w ? w - 1 : x + dx);
      int sy = y + dy < 0 ? 0 : (y + dy >= h ? h - 1 : y + dy);
      float4 c = noisy[sy * w + sx];
      sum.x += c.x;
      sum.y += c.y;
      sum.z += c.z;
      sum.w += 1.f;
    }
  beauty[y * w + x] = make_float4(sum.x / sum.w, sum.y / sum.w, sum.z / sum.w, 1.f);
}

__global__ void next_frame(std::uint32_t* frame) { ++*frame; }

// Ring of past images, filled on its own stream.
class History {
 public:
  History(int w, int h, int depth) {
    for (int i = 0; i < depth; ++i) ring_.push_back(std::make_unique<Image>(w, h));
  }
  ~History() { cudaStreamSynchronize(stream_); }

  void keep(const Image& image, const Event& ready) {
    ready.block(stream_);
    Image& slot = *ring_[next_++ % ring_.size()];
    chk(cudaMemcpyAsync(slot.get(), image.get(), image.bytes(), cudaMemcpyDeviceToDevice, stream_));
    kept_.record(stream_);
  }

  const Event& kept() const { return kept_; }
  void sync() const { stream_.sync(); }
  const Image& at(std::size_t i) const { return *ring_[i % ring_.size()]; }

 private:
  Stream stream_;
  Event kept_;
  std::vector<std::unique_ptr<Image>> ring_;
  std::size_t next_ = 0;
};

class FrameGraph {
 public:
  FrameGraph(int w, int h) : noisy_(w, h), beauty_(w, h) {
    chk(cudaMalloc(&frame_, sizeof(std::uint32_t)));
    chk(cudaMemsetAsync(frame_, 0, sizeof(std::uint32_t), stream_));
    cudaGraph_t graph = nullptr;
    chk(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    dim3 grid((w + 63) / 64, h);
    trace<<<grid, 64, 0, stream_>>>(noisy_.get(), w, h, frame_);
    bilateral<<<grid, 64, 0, stream_>>>(noisy_.get(), beauty_.get(), w, h);
    next_frame<<<1, 1, 0, stream_>>>(frame_);
    chk(cudaStreamEndCapture(stream_, &graph));
    chk(cudaGraphInstantiate(&exec_, graph, 0));
    chk(cudaGraphDestroy(graph));
  }
  ~FrameGraph() {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(exec_);
    cudaFree(frame_);
  }
  FrameGraph(const FrameGraph&) = delete;
  FrameGraph& operator=(const FrameGraph&) = delete;

  void render() {
    chk(cudaGraphLaunch(exec_, stream_));
    done_.record(stream_);
  }

  const Stream& stream() const { return stream_; }
  const Image& beauty() const { return beauty_; }
  const Event& done() const { return done_; }

 private:
  Stream stream_;
  Event done_;
  Image noisy_;
  Image beauty_;
  std::uint32_t* frame_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

class Viewer {
 public:
  Viewer(int w, int h) : frames_(w, h), history_(w, h, 32) {}

  void run(int count) {
    for (int i = 0; i < count; ++i) {
      history_.kept().block(frames_.stream());
      frames_.render();
      history_.keep(frames_.beauty(), frames_.done());
    }
    history_.sync();
  }

 private:
  FrameGraph frames_;
  History history_;
};

void record_turntable(int frames) {
  Viewer viewer(1920, 1080);
  viewer.run(frames);
}

}  // namespace rt
