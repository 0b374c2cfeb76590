// Thermal solver that leans on the legacy default stream: all other streams here are blocking
// streams, so that default-stream work runs after everything before it and before everything
// after it.  Do not build with --default-stream per-thread.
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#error "this file needs the legacy default stream"
#endif
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace thermal {

void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void conduct(const float* in, float* out, int nx, int rows, int firstRow, int ny) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = firstRow + blockIdx.y;
  if (x >= nx || y >= firstRow + rows) return;
  int c = y * nx + x;
  float l = in[x > 0 ? c - 1 : c], r = in[x < nx - 1 ? c + 1 : c];
  float u = in[y > 0 ? c - nx : c], d = in[y < ny - 1 ? c + nx : c];
  out[c] = in[c] + 0.2f * (l + r + u + d - 4.0f * in[c]);
}

__global__ void heatSources(float* field, const int* cells, const float* power, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) field[cells[i]] += power[i];
}

__global__ void maxOf(const float* field, int n, int* bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(bits, __float_as_int(fmaxf(field[i], 0.0f)));
}

class Plate {
 public:
  Plate(int nx, int ny, const std::vector<int>& cells, const std::vector<float>& power)
      : nx_(nx), ny_(ny), sources_(static_cast<int>(cells.size())) {
    for (cudaStream_t& s : bands_) check(cudaStreamCreate(&s));
    for (float** p : {&now_, &next_}) check(cudaMalloc(reinterpret_cast<void**>(p), bytes()));
    check(cudaMalloc(reinterpret_cast<void**>(&cells_), sources_ * sizeof(int)));
    check(cudaMalloc(reinterpret_cast<void**>(&power_), sources_ * sizeof(float)));
    check(cudaMalloc(reinterpret_cast<void**>(&peak_), sizeof(int)));
    check(cudaMemset(now_, 0, bytes()));
    check(cudaMemcpy(cells_, cells.data(), sources_ * sizeof(int), cudaMemcpyHostToDevice));
    check(cudaMemcpy(power_, power.data(), sources_ * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~Plate() {
    cudaDeviceSynchronize();
    for (void* p : {static_cast<void*>(now_), static_cast<void*>(next_), static_cast<void*>(cells_),
                    static_cast<void*>(power_), static_cast<void*>(peak_)})
      cudaFree(p);
    for (cudaStream_t s : bands_) cudaStreamDestroy(s);
  }
  Plate(const Plate&) = delete;
  Plate& operator=(const Plate&) = delete;

  // Bands in parallel, the sources behind all of them.
  void step() {
    const int rows = (ny_ + kBands - 1) / kBands;
    for (int b = 0; b < kBands; ++b) {
      const int first = b * rows;
      const int count = ny_ - first < rows ? ny_ - first : rows;
      if (count <= 0) break;
      conduct<<<dim3((nx_ + 127) / 128, count), 128, 0, bands_[b]>>>(now_, next_, nx_, count, first, ny_);
      check(cudaGetLastError());
    }
    heatSources<<<(sources_ + 127) / 128, 128>>>(next_, cells_, power_, sources_);
    check(cudaGetLastError());
    float* t = now_;
    now_ = next_;
    next_ = t;
  }

  float hottest() {
    check(cudaMemset(peak_, 0, sizeof(int)));
    maxOf<<<(nx_ * ny_ + 255) / 256, 256, 0, bands_[0]>>>(now_, nx_ * ny_, peak_);
    check(cudaGetLastError());
    float value = 0.0f;
    static_assert(sizeof(value) == sizeof(*peak_), "bit pattern of a float");
    check(cudaMemcpy(&value, peak_, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
  }

 private:
  static constexpr int kBands = 4;
  std::size_t bytes() const { return sizeof(float) * nx_ * ny_; }

  int nx_, ny_, sources_;
  std::array<cudaStream_t, kBands> bands_{};
  float *now_ = nullptr, *next_ = nullptr, *power_ = nullptr;
  int *cells_ = nullptr, *peak_ = nullptr;
};

float heatUp(int steps) {
  Plate plate(512, 500, {1000, 77000, 200000}, {5.0f, 3.0f, 8.0f});
  for (int i = 0; i < steps; ++i) plate.step();
  return plate.hottest();
}

}  // namespace thermal
