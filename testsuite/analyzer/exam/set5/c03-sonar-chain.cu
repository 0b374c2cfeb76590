// Side-scan sonar: range compression, beam forming and mosaicking on three streams.
#include <cuda_runtime.h>
#include <cufft.h>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace sonar {

inline void ck(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }
inline void ck(cufftResult r) { if (r != CUFFT_SUCCESS) throw std::runtime_error("cufft"); }

struct Stage {
  cudaStream_t stream{};
  cudaEvent_t done{};
  Stage() {
    ck(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ck(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  }
  ~Stage() {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(done);
    cudaStreamDestroy(stream);
  }
  Stage(const Stage&) = delete;
  void after(const Stage& o) { ck(cudaStreamWaitEvent(stream, o.done, 0)); }
  void mark() { ck(cudaEventRecord(done, stream)); }
};

__global__ void matched_filter(cufftComplex* spec, const cufftComplex* replica, int bins, int channels) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bins) return;
  cufftComplex r = replica[b];
  for (int c = 0; c < channels; ++c) {
    cufftComplex v = spec[c * bins + b];
    spec[c * bins + b] = make_float2((v.x * r.x + v.y * r.y) / bins, (v.y * r.x - v.x * r.y) / bins);
  }
}

__global__ void beam(const cufftComplex* ch, int bins, int channels, float* line) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= bins) return;
  float re = 0.f, im = 0.f;
  for (int c = 0; c < channels; ++c) { re += ch[c * bins + b].x; im += ch[c * bins + b].y; }
  line[b] = sqrtf(re * re + im * im);
}

__global__ void mosaic(const float* line, const cufftComplex* ch0, int bins, float* row) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < bins) row[b] = line[b] / (1e-6f + fabsf(ch0[b].x));
}

class Pipeline {
 public:
  Pipeline(int bins, int channels, int pings) : bins_(bins), channels_(channels) {
    ck(cudaMalloc(&data_, sizeof(cufftComplex) * bins * channels));
    ck(cudaMalloc(&replica_, sizeof(cufftComplex) * bins));
    ck(cudaMalloc(&line_, sizeof(float) * bins));
    ck(cudaMalloc(&image_, sizeof(float) * bins * pings));
    ck(cufftPlan1d(&plan_, bins, CUFFT_C2C, channels));
    ck(cufftSetStream(plan_, compress_.stream));
    ck(cudaMemsetAsync(replica_, 0x3d, sizeof(cufftComplex) * bins, compress_.stream));
  }
  ~Pipeline() {
    cudaDeviceSynchronize();
    cufftDestroy(plan_);
    cudaFree(image_);
    cudaFree(line_);
    cudaFree(replica_);
    cudaFree(data_);
  }

  void ping(const cufftComplex* samples, int index) {
    compress(samples);
    form();
    paint(index);
  }

  std::vector<float> image(int pings) {
    std::vector<float> h(size_t(bins_) * pings);
    ck(cudaMemcpyAsync(h.data(), image_, h.size() * sizeof(float), cudaMemcpyDeviceToHost, mosaic_.stream));
    ck(cudaStreamSynchronize(mosaic_.stream));
    return h;
  }

 private:
  int blocks() const { return (bins_ + 255) / 256; }

  void compress(const cufftComplex* samples) {
    compress_.after(mosaic_);
    ck(cudaMemcpyAsync(data_, samples, sizeof(cufftComplex) * bins_ * channels_, cudaMemcpyDeviceToDevice, compress_.stream));
    ck(cufftExecC2C(plan_, data_, data_, CUFFT_FORWARD));
    matched_filter<<<blocks(), 256, 0, compress_.stream>>>(data_, replica_, bins_, channels_);
    ck(cufftExecC2C(plan_, data_, data_, CUFFT_INVERSE));
    compress_.mark();
  }
  void form() {
    beam_.after(compress_);
    beam<<<blocks(), 256, 0, beam_.stream>>>(data_, bins_, channels_, line_);
    beam_.mark();
  }
  void paint(int index) {
    mosaic_.after(beam_);
    mosaic<<<blocks(), 256, 0, mosaic_.stream>>>(line_, data_, bins_, image_ + size_t(index) * bins_);
    mosaic_.mark();
  }

  int bins_, channels_;
  Stage compress_, beam_, mosaic_;
  cufftHandle plan_{};
  cufftComplex *data_ = nullptr, *replica_ = nullptr;
  float *line_ = nullptr, *image_ = nullptr;
};

}  // namespace sonar

int main() {
  const int bins = 8192, channels = 16, pings = 100;
  cufftComplex* raw = nullptr;
  size_t n = size_t(bins) * channels * pings;
  sonar::ck(cudaMalloc(&raw, sizeof(cufftComplex) * n));
  sonar::ck(cudaMemset(raw, 0x3e, sizeof(cufftComplex) * n));
  sonar::ck(cudaDeviceSynchronize());
  {
    sonar::Pipeline p(bins, channels, pings);
    for (int i = 0; i < pings; ++i) p.ping(raw + size_t(i) * bins * channels, i);
    std::printf("pixel %f\n", p.image(pings).back());
  }
  cudaFree(raw);
}
