// trace-filter: streams seismic traces through the GPU in chunks. Upload,
// filter and download of three consecutive chunks overlap; two slots suffice.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#define TF(call)                                                                          \
  do {                                                                                    \
    const cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "trace-filter:%d: %s\n", __LINE__, cudaGetErrorString(rc_));   \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kSamples = 1 << 20;
constexpr std::size_t kBytes = kSamples * sizeof(float);

struct Slot {
  float* host_in = nullptr;
  float* host_out = nullptr;
  float* dev_in = nullptr;
  float* dev_out = nullptr;
  cudaEvent_t uploaded = nullptr;
  cudaEvent_t filtered = nullptr;
  cudaEvent_t drained = nullptr;
  cudaEvent_t downloaded = nullptr;
  int chunk = -1;
};

// Removes the running mean; `carry` holds the mean of the last chunk.
__global__ void filter(const float* in, float* out, float* carry) {
  const float mean = *carry;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kSamples; i += gridDim.x * blockDim.x) out[i] = in[i] - mean;
}

__global__ void update_carry(const float* in, float* carry) {
  float sum = 0.f;
  for (int i = threadIdx.x; i < kSamples; i += 32) sum += in[i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if (threadIdx.x == 0) *carry = 0.9f * *carry + 0.1f * sum / kSamples;
}

class Pipeline {
 public:
  Pipeline() {
    for (cudaStream_t* s : {&up_, &work_, &down_}) TF(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    TF(cudaMalloc(&carry_, sizeof(float)));
    TF(cudaMemsetAsync(carry_, 0, sizeof(float), work_));
    for (Slot& s : slots_) {
      TF(cudaMallocHost(&s.host_in, kBytes));
      TF(cudaMallocHost(&s.host_out, kBytes));
      TF(cudaMalloc(&s.dev_in, kBytes));
      TF(cudaMalloc(&s.dev_out, kBytes));
      for (cudaEvent_t* e : {&s.uploaded, &s.filtered, &s.drained, &s.downloaded})
        TF(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    }
  }
  ~Pipeline() {
    for (cudaStream_t s : {up_, work_, down_}) TF(cudaStreamSynchronize(s));
    for (Slot& s : slots_) {
      TF(cudaFreeHost(s.host_in));
      TF(cudaFreeHost(s.host_out));
      TF(cudaFree(s.dev_in));
      TF(cudaFree(s.dev_out));
      for (cudaEvent_t e : {s.uploaded, s.filtered, s.drained, s.downloaded}) TF(cudaEventDestroy(e));
    }
    TF(cudaFree(carry_));
    for (cudaStream_t s : {up_, work_, down_}) TF(cudaStreamDestroy(s));
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The slot for `chunk`. If it still holds an older chunk, that one is consumed first.
  template <typename Consume>
  Slot& claim(int chunk, Consume&& consume) {
    Slot& s = slots_[chunk % 2];
    retire(s, consume);
    s.chunk = chunk;
    return s;
  }

  void submit(Slot& s) {
    TF(cudaStreamWaitEvent(up_, s.drained, 0));
    TF(cudaMemcpyAsync(s.dev_in, s.host_in, kBytes, cudaMemcpyHostToDevice, up_));
    TF(cudaEventRecord(s.uploaded, up_));
    TF(cudaStreamWaitEvent(work_, s.uploaded, 0));
    filter<<<128, 256, 0, work_>>>(s.dev_in, s.dev_out, carry_);
    TF(cudaEventRecord(s.filtered, work_));
    update_carry<<<1, 32, 0, work_>>>(s.dev_in, carry_);
    TF(cudaGetLastError());
    TF(cudaEventRecord(s.drained, work_));
    TF(cudaStreamWaitEvent(down_, s.filtered, 0));
    TF(cudaMemcpyAsync(s.host_out, s.dev_out, kBytes, cudaMemcpyDeviceToHost, down_));
    TF(cudaEventRecord(s.downloaded, down_));
  }

  template <typename Consume>
  void drain(int chunks, Consume&& consume) {
    for (int c = chunks < 2 ? 0 : chunks - 2; c < chunks; ++c) retire(slots_[c % 2], consume);
  }

 private:
  template <typename Consume>
  void retire(Slot& s, Consume&& consume) {
    if (s.chunk < 0) return;
    TF(cudaEventSynchronize(s.downloaded));
    consume(s.chunk, s.host_out);
    s.chunk = -1;
  }

  cudaStream_t up_ = nullptr, work_ = nullptr, down_ = nullptr;
  float* carry_ = nullptr;
  Slot slots_[2];
};

int main(int argc, char** argv) {
  const int chunks = argc > 1 ? std::atoi(argv[1]) : 20;
  Pipeline pipe;
  double checksum = 0.0;
  const auto consume = [&](int chunk, const float* out) {
    double sum = 0.0;
    for (int i = 0; i < kSamples; ++i) sum += out[i];
    checksum += sum / (chunk + 1);
  };
  for (int c = 0; c < chunks; ++c) {
    Slot& s = pipe.claim(c, consume);
    for (int i = 0; i < kSamples; ++i) s.host_in[i] = static_cast<float>((i * 31 + c) % 1000) * 1e-3f;
    pipe.submit(s);
  }
  pipe.drain(chunks, consume);
  std::printf("checksum %.6f\n", checksum);
  return 0;
}
