#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>

// Multichannel graphic equaliser; presets are FIR tap sets.

namespace audio {

constexpr int kTaps = 512;

#define AUD(x)                                                              \
  do {                                                                      \
    cudaError_t rc_ = (x);                                                  \
    if (rc_ != cudaSuccess) {                                               \
      std::fprintf(stderr, "[eq] %s -> %s\n", #x, cudaGetErrorString(rc_)); \
      return false;                                                         \
    }                                                                       \
  } while (0)

struct PresetBank {
  float* taps = nullptr;  // page-locked, filled while loading
  int used = 0;
  int capacity = 0;
  std::unordered_map<std::string, int> index;
};

bool bank_open(PresetBank& b, int capacity) {
  b.capacity = capacity;
  AUD(cudaMallocHost(&b.taps, sizeof(float) * kTaps * capacity));
  return true;
}

bool bank_add(PresetBank& b, const std::string& name, const float* taps) {
  if (b.used == b.capacity) return false;
  std::memcpy(b.taps + b.used * kTaps, taps, sizeof(float) * kTaps);
  b.index[name] = b.used++;
  return true;
}

struct Equaliser {
  float* d_taps = nullptr;
  int channels = 0;
  int frames = 0;
};

bool eq_init(Equaliser& eq, int channels, int frames) {
  eq.channels = channels;
  eq.frames = frames;
  AUD(cudaMalloc(&eq.d_taps, sizeof(float) * kTaps));
  return true;
}

__global__ void fir(const float* taps, const float* in, float* out, int frames) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  const float* src = in + size_t(blockIdx.y) * frames;
  if (t >= frames) return;
  float acc = 0.f;
  for (int k = 0; k < kTaps && k <= t; ++k) acc += taps[k] * src[t - k];
  out[size_t(blockIdx.y) * frames + t] = acc;
}

bool eq_apply(const Equaliser& eq, const float* taps, const float* in, float* out, cudaStream_t stream) {
  AUD(cudaMemcpy(eq.d_taps, taps, sizeof(float) * kTaps, cudaMemcpyHostToDevice));
  dim3 grid((eq.frames + 255) / 256, eq.channels);
  fir<<<grid, 256, 0, stream>>>(eq.d_taps, in, out, eq.frames);
  AUD(cudaGetLastError());
  return true;
}

struct Session {
  cudaStream_t stream = nullptr;
  float* a = nullptr;
  float* b = nullptr;
  size_t bytes = 0;
};

bool session_open(Session& s, const Equaliser& eq) {
  s.bytes = sizeof(float) * eq.channels * eq.frames;
  AUD(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  AUD(cudaMalloc(&s.a, s.bytes));
  AUD(cudaMalloc(&s.b, s.bytes));
  AUD(cudaMemsetAsync(s.a, 0, s.bytes, s.stream));
  return true;
}

bool session_render(Session& s, const Equaliser& eq, const PresetBank& bank, const char* const* chain, int n) {
  float *src = s.a, *dst = s.b;
  for (int i = 0; i < n; ++i) {
    auto it = bank.index.find(chain[i]);
    if (it == bank.index.end()) continue;
    if (!eq_apply(eq, bank.taps + it->second * kTaps, src, dst, s.stream)) return false;
    float* t = src;
    src = dst;
    dst = t;
  }
  AUD(cudaStreamSynchronize(s.stream));
  return true;
}

void session_close(Session& s) {
  cudaStreamSynchronize(s.stream);
  cudaFree(s.a);
  cudaFree(s.b);
  cudaStreamDestroy(s.stream);
}

}  // namespace audio

int main() {
  using namespace audio;
  PresetBank bank;
  Equaliser eq;
  Session session;
  if (!bank_open(bank, 8) || !eq_init(eq, 64, 1 << 18) || !session_open(session, eq)) return 1;
  float taps[kTaps] = {};
  const char* names[] = {"low-cut", "presence", "air"};
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < kTaps; ++k) taps[k] = (k == i) ? 1.f : 0.001f * float(i);
    if (!bank_add(bank, names[i], taps)) return 1;
  }
  bool ok = session_render(session, eq, bank, names, 3);
  session_close(session);
  cudaFree(eq.d_taps);
  cudaFreeHost(bank.taps);
  return ok ? 0 : 1;
}
