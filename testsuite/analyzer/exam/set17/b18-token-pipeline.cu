// Three kernels of a decoding step, chained with programmatic dependent launch (sm_90+):
// embed -> positions -> project.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(x)                                                          \
  do {                                                                  \
    if (cudaError_t rc = (x); rc != cudaSuccess) {                      \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(rc));     \
      std::exit(1);                                                     \
    }                                                                   \
  } while (0)

constexpr int kWidth = 256;

// hidden[t, :] = table[token[t], :]
__global__ void embed(const float* table, const int* tokens, int count, float* hidden) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  int t = blockIdx.x;
  if (t < count) hidden[t * kWidth + threadIdx.x] = table[tokens[t] * kWidth + threadIdx.x];
}

// phase[t] depends on the step only.
__global__ void positions(int step, int count, float* phase) {
  cudaTriggerProgrammaticLaunchCompletion();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < count) phase[t] = 0.001f * static_cast<float>(step + t);
}

__global__ void project(const float* hidden, const float* phase, int count, float* out) {
  cudaGridDependencySynchronize();
  int t = blockIdx.x;
  if (t >= count) return;
  float v = hidden[t * kWidth + threadIdx.x];
  out[t * kWidth + threadIdx.x] = v * cosf(phase[t]) + v;
}

// Launches kernels that may start before their predecessor in the stream has ended.
class ChainLauncher {
 public:
  explicit ChainLauncher(cudaStream_t stream) : stream_(stream) {
    attribute_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute_.val.programmaticStreamSerializationAllowed = 1;
  }

  template <typename... Params, typename... Args>
  void operator()(void (*kernel)(Params...), int grid, int block, Args&&... args) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.stream = stream_;
    config.attrs = &attribute_;
    config.numAttrs = 1;
    TRY(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...));
  }

 private:
  cudaStream_t stream_;
  cudaLaunchAttribute attribute_{};
};

class Decoder {
 public:
  Decoder(int vocabulary, int count) : count_(count) {
    TRY(cudaStreamCreate(&stream_));
    const std::vector<float> table(static_cast<size_t>(vocabulary) * kWidth, 0.5f);
    std::vector<int> tokens(count_);
    for (int t = 0; t < count_; ++t) tokens[t] = (37 * t) % vocabulary;
    table_ = upload(table);
    tokens_ = upload(tokens);
    TRY(cudaMalloc(reinterpret_cast<void**>(&hidden_), sizeof(float) * count_ * kWidth));
    TRY(cudaMalloc(reinterpret_cast<void**>(&phase_), sizeof(float) * count_));
    TRY(cudaMalloc(reinterpret_cast<void**>(&out_), sizeof(float) * count_ * kWidth));
    TRY(cudaDeviceSynchronize());
  }
  ~Decoder() {
    cudaStreamSynchronize(stream_);
    for (float* p : {table_, hidden_, phase_, out_}) cudaFree(p);
    cudaFree(tokens_);
    cudaStreamDestroy(stream_);
  }

  void step(int index) {
    ChainLauncher launch(stream_);
    launch(embed, count_, kWidth, table_, tokens_, count_, hidden_);
    launch(positions, (count_ + 127) / 128, 128, index, count_, phase_);
    launch(project, count_, kWidth, hidden_, phase_, count_, out_);
  }

  float first() {
    float value = 0.0f;
    TRY(cudaMemcpyAsync(&value, out_, sizeof(float), cudaMemcpyDeviceToHost, stream_));
    TRY(cudaStreamSynchronize(stream_));
    return value;
  }

 private:
  template <typename T>
  T* upload(const std::vector<T>& host) {
    T* device = nullptr;
    TRY(cudaMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(T)));
    TRY(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
  }

  int count_;
  cudaStream_t stream_ = nullptr;
  float *table_ = nullptr, *hidden_ = nullptr, *phase_ = nullptr, *out_ = nullptr;
  int* tokens_ = nullptr;
};

int main() {
  Decoder decoder(1000, 64);
  for (int i = 0; i < 32; ++i) decoder.step(i);
  std::printf("%f\n", decoder.first());
  return 0;
}
