// Soil moisture interpolation for the irrigation planner. Fields are independent; each is processed on its own stream and fetched
// with plain copies.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define SOIL_CHECK(call)                                                                  \
  do {                                                                                    \
    const cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(rc_));            \
      std::exit(EXIT_FAILURE);                                                            \
    }                                                                                     \
  } while (0)

struct Probe {
  float x, y, moisture;
};

__global__ void interpolate(const Probe* probes, int count, float* grid, int edge) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= edge) return;
  float weights = 0.f, value = 0.f;
  for (int i = 0; i < count; ++i) {
    const float dx = probes[i].x - x, dy = probes[i].y - y;
    const float w = 1.f / (1.f + dx * dx + dy * dy);
    weights += w;
    value += w * probes[i].moisture;
  }
  grid[y * edge + x] = value / weights;
}

template <typename T>
class DeviceVector {
 public:
  explicit DeviceVector(std::size_t n) : n_(n) { SOIL_CHECK(cudaMalloc(&data_, n * sizeof(T))); }
  explicit DeviceVector(const std::vector<T>& values) : DeviceVector(values.size()) {
    SOIL_CHECK(cudaMemcpy(data_, values.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceVector() { cudaFree(data_); }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return n_; }

  std::vector<T> fetch() const {
    std::vector<T> host(n_);
    SOIL_CHECK(cudaMemcpy(host.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t n_;
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() { SOIL_CHECK(cudaStreamCreate(&handle_)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class Field {
 public:
  Field(const std::vector<Probe>& probes, int edge)
      : edge_(edge), probes_(probes), grid_(static_cast<std::size_t>(edge) * edge) {}
  ~Field() { cudaStreamSynchronize(stream_); }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  void start() {
    const dim3 grid((edge_ + 127) / 128, edge_);
    interpolate<<<grid, 128, 0, stream_>>>(probes_.data(), static_cast<int>(probes_.size()), grid_.data(), edge_);
    SOIL_CHECK(cudaGetLastError());
  }

  std::vector<float> map() const { return grid_.fetch(); }

 private:
  int edge_;
  Stream stream_;
  DeviceVector<Probe> probes_;
  DeviceVector<float> grid_;
};

int main() {
  std::vector<std::unique_ptr<Field>> fields;
  for (int f = 0; f < 6; ++f) {
    std::vector<Probe> probes(50000);
    for (std::size_t i = 0; i < probes.size(); ++i) probes[i] = {float(i % 512), float(i / 512), 0.01f * f};
    fields.push_back(std::make_unique<Field>(probes, 512));
  }
  for (auto& field : fields) field->start();
  for (auto& field : fields) std::printf("%f\n", field->map().front());
  return 0;
}
