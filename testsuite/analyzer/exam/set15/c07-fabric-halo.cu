#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

// Smoothing of a wide fabric image that is cut into strips, one strip per GPU. Every pass
// sends the last row of a strip to the next GPU.

#define WEAVE_CHECK(x)                                                                   \
  if (cudaError_t e_ = (x); e_ != cudaSuccess) {                                         \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));      \
    std::abort();                                                                        \
  }

__global__ void smooth_kernel(const float* in, const float* halo, float* out, int width, int rows) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width * rows) return;
  const float above = i < width ? halo[i] : in[i - width];
  out[i] = 0.5f * (in[i] + above);
}

class Strip {
 public:
  Strip(int device, int width, int rows) : device_(device), width_(width), rows_(rows) {
    use();
    WEAVE_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    WEAVE_CHECK(cudaEventCreateWithFlags(&halo_sent_, cudaEventDisableTiming));
    WEAVE_CHECK(cudaEventCreateWithFlags(&halo_read_, cudaEventDisableTiming));
    for (float** p : {&image_, &next_}) {
      WEAVE_CHECK(cudaMalloc(p, bytes()));
      WEAVE_CHECK(cudaMemsetAsync(*p, 0, bytes(), stream_));
    }
    WEAVE_CHECK(cudaMalloc(&halo_, width_ * sizeof(float)));
    WEAVE_CHECK(cudaMemsetAsync(halo_, 0, width_ * sizeof(float), stream_));
    WEAVE_CHECK(cudaEventRecord(halo_read_, stream_));
  }
  ~Strip() {
    cudaSetDevice(device_);
    for (float* p : {image_, next_, halo_}) cudaFree(p);
    cudaEventDestroy(halo_read_);
    cudaEventDestroy(halo_sent_);
    cudaStreamDestroy(stream_);
  }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  void load(const std::vector<float>& rows) {
    use();
    WEAVE_CHECK(cudaMemcpyAsync(image_, rows.data(), bytes(), cudaMemcpyHostToDevice, stream_));
    WEAVE_CHECK(cudaStreamSynchronize(stream_));
  }

  // Copies the last row to the strip below.
  void send_halo(Strip& below) {
    use();
    WEAVE_CHECK(cudaStreamWaitEvent(stream_, below.halo_read_, 0));
    WEAVE_CHECK(cudaMemcpyPeerAsync(below.halo_, below.device_, image_ + size_t(width_) * (rows_ - 1),
                                    device_, width_ * sizeof(float), stream_));
    WEAVE_CHECK(cudaEventRecord(halo_sent_, stream_));
    below.use();
    WEAVE_CHECK(cudaStreamWaitEvent(below.stream_, halo_sent_, 0));
  }

  void smooth() {
    use();
    const unsigned blocks = (width_ * rows_ + 255) / 256;
    smooth_kernel<<<blocks, 256, 0, stream_>>>(image_, halo_, next_, width_, rows_);
    WEAVE_CHECK(cudaGetLastError());
    WEAVE_CHECK(cudaEventRecord(halo_read_, stream_));
    float* const t = image_;
    image_ = next_;
    next_ = t;
  }

  float sample(int column) {
    use();
    float value = 0.f;
    WEAVE_CHECK(cudaMemcpyAsync(&value, image_ + column, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    WEAVE_CHECK(cudaStreamSynchronize(stream_));
    return value;
  }

  void drain() {
    use();
    WEAVE_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  void use() const { WEAVE_CHECK(cudaSetDevice(device_)); }
  size_t bytes() const { return size_t(width_) * rows_ * sizeof(float); }

  int device_, width_, rows_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t halo_sent_ = nullptr;
  cudaEvent_t halo_read_ = nullptr;
  float* image_ = nullptr;
  float* next_ = nullptr;
  float* halo_ = nullptr;
};

int main() {
  constexpr int kWidth = 8192, kRows = 512;
  int devices = 0;
  WEAVE_CHECK(cudaGetDeviceCount(&devices));
  std::vector<std::unique_ptr<Strip>> strips;
  for (int d = 0; d < devices; ++d) {
    strips.push_back(std::make_unique<Strip>(d, kWidth, kRows));
    std::vector<float> rows(size_t(kWidth) * kRows);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>((i * 7 + d) % 256);
    strips.back()->load(rows);
  }
  for (int pass = 0; pass < 16; ++pass) {
    for (int d = 0; d + 1 < devices; ++d) strips[d]->send_halo(*strips[d + 1]);
    for (auto& s : strips) s->smooth();
  }
  for (auto& s : strips) s->drain();
  for (auto& s : strips) std::printf("%f ", s->sample(17));
  std::printf("\n");
  return 0;
}
