// Star-field photometry: background estimation on a "sky" stream, source extraction on a "stars" stream.
// Temporary images come from the stream-ordered allocator.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void ok(cudaError_t rc) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(rc));
  std::exit(1);
}

// Device array whose lifetime is tied to a stream.
template <typename T>
class StreamBuffer {
 public:
  StreamBuffer() = default;
  StreamBuffer(size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    ok(cudaMallocAsync(reinterpret_cast<void**>(&data_), count * sizeof(T), stream_));
  }
  ~StreamBuffer() { release(); }
  StreamBuffer(StreamBuffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), count_(std::exchange(o.count_, 0)), stream_(o.stream_) {}
  StreamBuffer& operator=(StreamBuffer&& o) noexcept {
    if (this != &o) {
      release();
      data_ = std::exchange(o.data_, nullptr);
      count_ = std::exchange(o.count_, 0);
      stream_ = o.stream_;
    }
    return *this;
  }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  void set_stream(cudaStream_t stream) { stream_ = stream; }

 private:
  void release() {
    if (data_) cudaFreeAsync(data_, stream_);
    data_ = nullptr;
  }

  T* data_ = nullptr;
  size_t count_ = 0;
  cudaStream_t stream_ = nullptr;
};

__global__ void estimate_sky(const unsigned short* raw, float* sky, int w, int h, int radius) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w) return;
  float sum = 0.0f;
  int count = 0;
  for (int dy = -radius; dy <= radius; dy += 4)
    for (int dx = -radius; dx <= radius; dx += 4) {
      int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
      sum += raw[yy * w + xx];
      ++count;
    }
  sky[y * w + x] = sum / count;
}

__global__ void count_stars(const unsigned short* raw, const float* sky, int w, int h, float threshold, unsigned* hits) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && raw[y * w + x] - sky[y * w + x] > threshold) atomicAdd(hits, 1u);
}

class Photometer {
 public:
  Photometer(int w, int h, int max_frames) : w_(w), h_(h) {
    ok(cudaStreamCreateWithFlags(&sky_stream_, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&star_stream_, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&sky_done_, cudaEventDisableTiming));
    ok(cudaMalloc(&hits_, max_frames * sizeof(unsigned)));
    ok(cudaMemsetAsync(hits_, 0, max_frames * sizeof(unsigned), star_stream_));
  }
  ~Photometer() {
    ok(cudaStreamSynchronize(star_stream_));
    ok(cudaStreamSynchronize(sky_stream_));
    cudaFree(hits_);
    cudaEventDestroy(sky_done_);
    cudaStreamDestroy(star_stream_);
    cudaStreamDestroy(sky_stream_);
  }

  void measure(const unsigned short* raw, int frame) {
    StreamBuffer<float> sky = background(raw);
    ok(cudaEventRecord(sky_done_, sky_stream_));
    extract(raw, sky, frame);
    sky.set_stream(star_stream_);
  }

  std::vector<unsigned> counts(int frames) {
    std::vector<unsigned> out(frames);
    ok(cudaMemcpyAsync(out.data(), hits_, frames * sizeof(unsigned), cudaMemcpyDeviceToHost, star_stream_));
    ok(cudaStreamSynchronize(star_stream_));
    return out;
  }

 private:
  StreamBuffer<float> background(const unsigned short* raw) {
    StreamBuffer<float> sky(static_cast<size_t>(w_) * h_, sky_stream_);
    estimate_sky<<<dim3((w_ + 127) / 128, h_), 128, 0, sky_stream_>>>(raw, sky.data(), w_, h_, 24);
    ok(cudaGetLastError());
    return sky;
  }

  void extract(const unsigned short* raw, StreamBuffer<float>& sky, int frame) {
    ok(cudaStreamWaitEvent(star_stream_, sky_done_, 0));
    count_stars<<<dim3((w_ + 127) / 128, h_), 128, 0, star_stream_>>>(raw, sky.data(), w_, h_, 90.0f, hits_ + frame);
    ok(cudaGetLastError());
  }

  int w_;
  int h_;
  cudaStream_t sky_stream_ = nullptr;
  cudaStream_t star_stream_ = nullptr;
  cudaEvent_t sky_done_ = nullptr;
  unsigned* hits_ = nullptr;
};

int main() {
  const int w = 4096, h = 4096, frames = 16;
  std::vector<unsigned short> image(static_cast<size_t>(w) * h);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<unsigned short>((i * 2654435761u) >> 22);
  unsigned short* raw = nullptr;
  ok(cudaMalloc(&raw, image.size() * sizeof(unsigned short)));
  ok(cudaMemcpy(raw, image.data(), image.size() * sizeof(unsigned short), cudaMemcpyHostToDevice));
  ok(cudaDeviceSynchronize());
  {
    Photometer meter(w, h, frames);
    for (int f = 0; f < frames; ++f) meter.measure(raw, f);
    for (unsigned c : meter.counts(frames)) std::printf("%u\n", c);
  }
  ok(cudaFree(raw));
  return 0;
}
