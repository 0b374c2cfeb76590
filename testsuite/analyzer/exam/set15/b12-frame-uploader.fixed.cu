#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// Weed detection from multispectral drone frames.

namespace {

void must(cudaError_t e, const char* what) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(EXIT_FAILURE);
  }
}

__global__ void excess_green_kernel(const uint8_t* rgb, float* index, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  const float r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
  const float sum = fmaxf(r + g + b, 1.f);
  index[i] = (2.f * g - r - b) / sum;
}

__global__ void count_kernel(const float* index, int pixels, float threshold, unsigned* count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels && index[i] > threshold) atomicAdd(count, 1u);
}

}  // namespace

class FrameUploader {
 public:
  FrameUploader(size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
    must(cudaMallocHost(&staging_, bytes_), "staging");
    must(cudaMalloc(&frame_, bytes_), "frame");
    must(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "event");
  }
  ~FrameUploader() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(copied_);
    cudaFree(frame_);
    cudaFreeHost(staging_);
  }
  FrameUploader(const FrameUploader&) = delete;
  FrameUploader& operator=(const FrameUploader&) = delete;

  // fill(dst, bytes) writes the next frame.
  template <typename Fill>
  const uint8_t* upload(Fill&& fill) {
    must(cudaEventSynchronize(copied_), "staging busy");
    fill(staging_, bytes_);
    must(cudaMemcpyAsync(frame_, staging_, bytes_, cudaMemcpyHostToDevice, stream_), "upload");
    must(cudaEventRecord(copied_, stream_), "record");
    return frame_;
  }

  // True once the last frame has left the staging buffer.
  bool idle() const { return cudaEventQuery(copied_) == cudaSuccess; }

 private:
  size_t bytes_;
  cudaStream_t stream_;
  uint8_t* staging_ = nullptr;
  uint8_t* frame_ = nullptr;
  cudaEvent_t copied_ = nullptr;
};

class WeedCounter {
 public:
  WeedCounter(int pixels, int frames, cudaStream_t stream) : pixels_(pixels), frames_(frames), stream_(stream) {
    must(cudaMalloc(&index_, pixels * sizeof(float)), "index");
    must(cudaMalloc(&counts_, frames * sizeof(unsigned)), "counts");
    must(cudaMemsetAsync(counts_, 0, frames * sizeof(unsigned), stream_), "counts");
  }
  ~WeedCounter() {
    cudaStreamSynchronize(stream_);
    cudaFree(counts_);
    cudaFree(index_);
  }

  void process(const uint8_t* frame, int number) {
    const unsigned blocks = (pixels_ + 255) / 256;
    excess_green_kernel<<<blocks, 256, 0, stream_>>>(frame, index_, pixels_);
    count_kernel<<<blocks, 256, 0, stream_>>>(index_, pixels_, 0.2f, counts_ + number);
    must(cudaGetLastError(), "kernels");
  }

  std::vector<unsigned> counts() const {
    std::vector<unsigned> host(frames_);
    must(cudaMemcpyAsync(host.data(), counts_, frames_ * sizeof(unsigned), cudaMemcpyDeviceToHost,
                         stream_),
         "counts");
    must(cudaStreamSynchronize(stream_), "counts");
    return host;
  }

 private:
  int pixels_, frames_;
  cudaStream_t stream_;
  float* index_ = nullptr;
  unsigned* counts_ = nullptr;
};

int main() {
  constexpr int kPixels = 1920 * 1080;
  constexpr int kFrames = 24;
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  {
    FrameUploader uploader(3 * size_t(kPixels), stream);
    WeedCounter counter(kPixels, kFrames, stream);
    for (int f = 0; f < kFrames; ++f) {
      const uint8_t* frame = uploader.upload([f](uint8_t* dst, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i) dst[i] = static_cast<uint8_t>(i * 31 + f * 17);
      });
      counter.process(frame, f);
    }
    for (unsigned c : counter.counts()) std::printf("%u ", c);
    std::printf("\n");
  }
  must(cudaStreamDestroy(stream), "destroy");
  return 0;
}
