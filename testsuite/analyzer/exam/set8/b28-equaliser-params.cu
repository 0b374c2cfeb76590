// Ten-band equaliser. The band settings live in managed memory so that the user-interface thread can turn the knobs
// without any explicit copy. Needs a device with concurrentManagedAccess.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(x)                                                                        \
  do {                                                                                  \
    cudaError_t rc = (x);                                                               \
    if (rc != cudaSuccess) {                                                            \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));  \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kBands = 10;

struct Biquad {
  float b0, b1, b2, a1, a2;
};

struct BandSettings {
  Biquad band[kBands];
  float master_gain;
};

__global__ void equalise(const float* in, float* out, int channels, int frames, const BandSettings* settings) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  float z1[kBands] = {}, z2[kBands] = {};
  for (int f = 0; f < frames; ++f) {
    float x = in[f * channels + c];
    for (int k = 0; k < kBands; ++k) {
      const Biquad& q = settings->band[k];
      float y = q.b0 * x + z1[k];
      z1[k] = q.b1 * x - q.a1 * y + z2[k];
      z2[k] = q.b2 * x - q.a2 * y;
      x = y;
    }
    out[f * channels + c] = x * settings->master_gain;
  }
}

static Biquad peak(float hz, float rate, float gain_db) {
  float a = std::pow(10.0f, gain_db / 40.0f);
  float w = 2.0f * 3.14159265f * hz / rate;
  float alpha = std::sin(w) / 2.0f;
  float a0 = 1.0f + alpha / a;
  return {(1.0f + alpha * a) / a0, -2.0f * std::cos(w) / a0, (1.0f - alpha * a) / a0, -2.0f * std::cos(w) / a0,
          (1.0f - alpha / a) / a0};
}

class Equaliser {
 public:
  Equaliser(int channels, int frames, float rate) : channels_(channels), frames_(frames), rate_(rate) {
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&in_use_, cudaEventDisableTiming));
    CHECK(cudaMallocManaged(&settings_, sizeof(BandSettings)));
    CHECK(cudaMalloc(&in_, bytes()));
    CHECK(cudaMalloc(&out_, bytes()));
    flatten();
  }

  ~Equaliser() {
    CHECK(cudaStreamSynchronize(stream_));
    cudaFree(out_);
    cudaFree(in_);
    cudaFree(settings_);
    cudaEventDestroy(in_use_);
    cudaStreamDestroy(stream_);
  }

  void flatten() {
    BandSettings& s = edit();
    for (int k = 0; k < kBands; ++k) s.band[k] = {1.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    s.master_gain = 1.0f;
  }

  void turn(int band, float gain_db) {
    edit().band[band] = peak(31.25f * static_cast<float>(1 << band), rate_, gain_db);
  }

  void set_master(float gain) { edit().master_gain = gain; }

  // Filters one block. `in` and `out` are page-locked; `out` is valid after wait().
  void process(const float* in, float* out) {
    CHECK(cudaMemcpyAsync(in_, in, bytes(), cudaMemcpyHostToDevice, stream_));
    filter(bind());
    CHECK(cudaMemcpyAsync(out, out_, bytes(), cudaMemcpyDeviceToHost, stream_));
  }

  void wait() { CHECK(cudaStreamSynchronize(stream_)); }

 private:
  size_t bytes() const { return sizeof(float) * channels_ * frames_; }

  // The settings for writing on the host.
  BandSettings& edit() {
    CHECK(cudaEventSynchronize(in_use_));
    return *settings_;
  }

  // The settings for use by a kernel of stream_.
  const BandSettings* bind() {
    CHECK(cudaEventRecord(in_use_, stream_));
    return settings_;
  }

  void filter(const BandSettings* settings) {
    equalise<<<(channels_ + 31) / 32, 32, 0, stream_>>>(in_, out_, channels_, frames_, settings);
    CHECK(cudaGetLastError());
  }

  int channels_;
  int frames_;
  float rate_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t in_use_ = nullptr;
  BandSettings* settings_ = nullptr;
  float* in_ = nullptr;
  float* out_ = nullptr;
};

int main() {
  const int channels = 64, frames = 4096, blocks = 32;
  const size_t samples = static_cast<size_t>(channels) * frames;
  float* in = nullptr;
  float* out = nullptr;
  CHECK(cudaMallocHost(&in, samples * sizeof(float)));
  CHECK(cudaMallocHost(&out, blocks * samples * sizeof(float)));
  for (size_t i = 0; i < samples; ++i) in[i] = std::sin(0.01f * static_cast<float>(i / channels));
  {
    Equaliser eq(channels, frames, 48000.0f);
    for (int b = 0; b < blocks; ++b) {
      eq.turn(b % kBands, b % 2 ? 6.0f : -6.0f);
      eq.set_master(1.0f / static_cast<float>(b + 1));
      eq.process(in, out + b * samples);
    }
    eq.wait();
    double sum = 0.0;
    for (size_t i = 0; i < blocks * samples; ++i) sum += out[i];
    std::printf("checksum %f\n", sum);
  }
  CHECK(cudaFreeHost(out));
  CHECK(cudaFreeHost(in));
  return 0;
}
