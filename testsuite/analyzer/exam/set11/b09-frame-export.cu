// Colour pipeline of the editor. Finished frames stay in a pool of device
// surfaces; clients copy them out on their own streams.
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

namespace grade {

#define GRADE_CUDA(x)                                                                  \
  do {                                                                                 \
    const cudaError_t rc = (x);                                                        \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#x) + cudaGetErrorString(rc)); \
  } while (false)

struct Size {
  int width;
  int height;
  std::size_t pixels() const { return static_cast<std::size_t>(width) * height; }
};

struct Look {
  float lift;
  float gain;
};

__global__ void apply_look(uchar4* pixels, std::size_t n, int frame, float lift, float gain) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  const float base = static_cast<float>((i + frame) & 0xff);
  const unsigned char v = static_cast<unsigned char>(fminf(255.f, lift + gain * base));
  pixels[i] = make_uchar4(v, v, v, 255);
}

class ColourPipeline {
 public:
  struct Output {
    int surface;
    int frame;
  };

  ColourPipeline(Size size, int surfaces) : size_(size), surfaces_(surfaces), ready_(surfaces) {
    GRADE_CUDA(cudaStreamCreateWithFlags(&stage_, cudaStreamNonBlocking));
    for (int i = 0; i < surfaces; ++i) {
      GRADE_CUDA(cudaMalloc(reinterpret_cast<void**>(&surfaces_[i]), bytes()));
      GRADE_CUDA(cudaEventCreateWithFlags(&ready_[i], cudaEventDisableTiming));
      free_.push_back(i);
    }
  }
  ~ColourPipeline() {
    cudaDeviceSynchronize();
    for (auto* p : surfaces_) cudaFree(p);
    for (auto e : ready_) cudaEventDestroy(e);
    cudaStreamDestroy(stage_);
  }
  ColourPipeline(const ColourPipeline&) = delete;
  ColourPipeline& operator=(const ColourPipeline&) = delete;

  std::size_t bytes() const { return sizeof(uchar4) * size_.pixels(); }

  /// Renders the next frame into a free surface.
  Output run(int frame, const Look& look) {
    if (free_.empty()) throw std::runtime_error("all surfaces are in use");
    const int s = free_.front();
    free_.pop_front();
    const unsigned blocks = static_cast<unsigned>((size_.pixels() + 255) / 256);
    apply_look<<<blocks, 256, 0, stage_>>>(surfaces_[s], size_.pixels(), frame, look.lift, look.gain);
    GRADE_CUDA(cudaGetLastError());
    GRADE_CUDA(cudaEventRecord(ready_[s], stage_));
    return {s, frame};
  }

  /// Copies an output to device memory of the client, ordered in `user`.
  void copy_to_external(const Output& output, void* destination, cudaStream_t user) {
    GRADE_CUDA(cudaStreamWaitEvent(user, ready_[output.surface], 0));
    GRADE_CUDA(cudaMemcpyAsync(destination, surfaces_[output.surface], bytes(), cudaMemcpyDeviceToDevice, user));
  }

  /// Gives the surface back; the next run() may take it.
  void release(const Output& output) { free_.push_back(output.surface); }

 private:
  Size size_;
  cudaStream_t stage_ = nullptr;
  std::vector<uchar4*> surfaces_;
  std::vector<cudaEvent_t> ready_;
  std::deque<int> free_;
};

/// Renders `frames` frames into one contiguous clip in device memory.
void export_clip(uchar4* clip, int frames, Size size, const Look& look) {
  cudaStream_t user = nullptr;
  GRADE_CUDA(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking));
  ColourPipeline pipeline(size, 1);
  for (int f = 0; f < frames; ++f) {
    const auto output = pipeline.run(f, look);
    pipeline.copy_to_external(output, clip + f * size.pixels(), user);
    pipeline.release(output);
  }
  GRADE_CUDA(cudaStreamSynchronize(user));
  GRADE_CUDA(cudaStreamDestroy(user));
}

}  // namespace grade
