// Dose accumulation for radiotherapy planning: one weight vector per beam, one dose grid.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define GUARD(x)                                                                      \
  do {                                                                                \
    const cudaError_t status = (x);                                                   \
    if (status != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(status), __FILE__, __LINE__); \
      std::exit(EXIT_FAILURE);                                                        \
    }                                                                                 \
  } while (0)

__global__ void depositBeam(const float* weights, int nweights, float* dose, int voxels, int beam) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= voxels) return;
  float sum = 0.0f;
  for (int w = 0; w < nweights; ++w) {
    float d = static_cast<float>((v + 31 * beam + w) % 97) * 0.01f;
    sum += weights[w] * expf(-d);
  }
  dose[v] += sum;
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t n) : size_(n) {
    GUARD(cudaMalloc(reinterpret_cast<void**>(&data_), n * sizeof(T)));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  void assign(const std::vector<T>& values, cudaStream_t stream) {
    if (values.size() != size_) std::abort();
    GUARD(cudaMemcpyAsync(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice, stream));
    GUARD(cudaStreamSynchronize(stream));
  }

  void zero(cudaStream_t stream) { GUARD(cudaMemsetAsync(data_, 0, size_ * sizeof(T), stream)); }

  std::vector<T> fetch(cudaStream_t stream) const {
    std::vector<T> values(size_);
    GUARD(cudaMemcpyAsync(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream));
    GUARD(cudaStreamSynchronize(stream));
    return values;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

class DoseEngine {
 public:
  DoseEngine(int voxels, int beamlets) : weights_(beamlets), dose_(voxels) {
    GUARD(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    dose_.zero(stream_);
  }
  ~DoseEngine() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void addBeam(int beam, const std::vector<float>& weights) {
    weights_.assign(weights, stream_);
    deposit(beam);
    GUARD(cudaStreamSynchronize(stream_));
  }

  std::vector<float> dose() const { return dose_.fetch(stream_); }

 private:
  void deposit(int beam) {
    const int voxels = static_cast<int>(dose_.size());
    depositBeam<<<(voxels + 255) / 256, 256, 0, stream_>>>(
        weights_.data(), static_cast<int>(weights_.size()), dose_.data(), voxels, beam);
    GUARD(cudaGetLastError());
  }

  DeviceArray<float> weights_;
  DeviceArray<float> dose_;
  cudaStream_t stream_ = nullptr;
};

std::vector<float> beamWeights(int beam, int beamlets) {
  std::vector<float> w(beamlets);
  for (int i = 0; i < beamlets; ++i) w[i] = 1.0f / static_cast<float>(1 + (i + beam) % 17);
  return w;
}

int main() {
  constexpr int kBeamlets = 12000;
  DoseEngine engine(1 << 16, kBeamlets);
  for (int beam = 0; beam < 9; ++beam) engine.addBeam(beam, beamWeights(beam, kBeamlets));
  const std::vector<float> dose = engine.dose();
  std::printf("mean dose %f\n", std::accumulate(dose.begin(), dose.end(), 0.0) / dose.size());
  return 0;
}
