// Captured tone-mapping chain for a camera preview; subscribers receive private copies.
#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace preview {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct StreamDeleter {
  void operator()(cudaStream_t s) const { cudaStreamDestroy(s); }
};
struct EventDeleter {
  void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
};
using Stream = std::unique_ptr<CUstream_st, StreamDeleter>;
using Event = std::unique_ptr<CUevent_st, EventDeleter>;

Stream make_stream() {
  cudaStream_t s{};
  ok(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  return Stream(s);
}
Event make_event() {
  cudaEvent_t e{};
  ok(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  return Event(e);
}

__global__ void demosaic(const unsigned short* bayer, float3* rgb, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float v = bayer[y * w + x] * (1.f / 4095.f);
  rgb[y * w + x] = make_float3(v, v, v);
}

__global__ void tone_map(const float3* rgb, uchar4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 c = rgb[i];
  auto q = [](float v) { return static_cast<unsigned char>(255.f * v / (1.f + v)); };
  out[i] = make_uchar4(q(c.x), q(c.y), q(c.z), 255);
}

struct Frame {
  uchar4* pixels = nullptr;
  Event ready = make_event();
};

class Pipeline {
 public:
  Pipeline(int w, int h) : w_(w), h_(h), main_(make_stream()), copy_(make_stream()),
                           rendered_(make_event()), copied_(make_event()) {
    ok(cudaMalloc(&bayer_, pixels() * sizeof(unsigned short)));
    ok(cudaMalloc(&rgb_, pixels() * sizeof(float3)));
    ok(cudaMalloc(&preview_, pixels() * sizeof(uchar4)));
    capture();
  }

  ~Pipeline() {
    cudaStreamSynchronize(copy_.get());
    cudaStreamSynchronize(main_.get());
    cudaGraphExecDestroy(exec_);
    cudaFree(preview_);
    cudaFree(rgb_);
    cudaFree(bayer_);
  }

  // raw must be page-locked and stay untouched until the frame's event has passed.
  void submit(const unsigned short* raw) {
    ok(cudaMemcpyAsync(bayer_, raw, pixels() * sizeof(unsigned short), cudaMemcpyHostToDevice,
                       main_.get()));
    ok(cudaGraphLaunch(exec_, main_.get()));
    ok(cudaEventRecord(rendered_.get(), main_.get()));
  }

  void deliver(Frame& dst) {
    ok(cudaStreamWaitEvent(copy_.get(), rendered_.get(), 0));
    ok(cudaMemcpyAsync(dst.pixels, preview_, pixels() * sizeof(uchar4), cudaMemcpyDeviceToDevice,
                       copy_.get()));
    ok(cudaEventRecord(copied_.get(), copy_.get()));
    ok(cudaEventRecord(dst.ready.get(), copy_.get()));
  }

  size_t pixels() const { return static_cast<size_t>(w_) * h_; }

 private:
  void capture() {
    cudaGraph_t g{};
    ok(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeRelaxed));
    dim3 b(32, 8), gr((w_ + 31) / 32, (h_ + 7) / 8);
    demosaic<<<gr, b, 0, main_.get()>>>(bayer_, rgb_, w_, h_);
    tone_map<<<static_cast<unsigned>((pixels() + 255) / 256), 256, 0, main_.get()>>>(
        rgb_, preview_, static_cast<int>(pixels()));
    ok(cudaStreamEndCapture(main_.get(), &g));
    ok(cudaGraphInstantiate(&exec_, g, 0));
    ok(cudaGraphDestroy(g));
  }

  int w_, h_;
  Stream main_, copy_;
  Event rendered_, copied_;
  unsigned short* bayer_ = nullptr;
  float3* rgb_ = nullptr;
  uchar4* preview_ = nullptr;
  cudaGraphExec_t exec_{};
};

using Sink = std::function<void(Frame&)>;

// Runs `count` exposures and hands each subscriber a private frame.
void run_session(Pipeline& p, const std::vector<const unsigned short*>& raws, const Sink& sink) {
  std::vector<Frame> frames(raws.size());
  for (Frame& f : frames) ok(cudaMalloc(&f.pixels, p.pixels() * sizeof(uchar4)));
  for (size_t i = 0; i < raws.size(); ++i) {
    p.submit(raws[i]);
    p.deliver(frames[i]);
  }
  for (Frame& f : frames) {
    ok(cudaEventSynchronize(f.ready.get()));
    sink(f);
    ok(cudaFree(f.pixels));
  }
}

}  // namespace preview
