// Two-centre overlap integrals. The kernels are compiled separately and loaded with the driver API.
#include <cuda.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#define QC_CHECK(expr)                                                          \
  do {                                                                          \
    CUresult rc_ = (expr);                                                      \
    if (rc_ != CUDA_SUCCESS) {                                                  \
      const char* msg_ = nullptr;                                               \
      cuGetErrorString(rc_, &msg_);                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, msg_); \
      std::abort();                                                             \
    }                                                                           \
  } while (0)

struct Shell {
  double center[3];
  double exponent;
  double coefficient;
};

// Device copy of a host table.
template <typename T>
class DeviceTable {
 public:
  explicit DeviceTable(const std::vector<T>& host) : count_(host.size()) {
    QC_CHECK(cuMemAlloc(&ptr_, count_ * sizeof(T)));
    QC_CHECK(cuMemcpyHtoD(ptr_, host.data(), count_ * sizeof(T)));
    QC_CHECK(cuStreamSynchronize(CU_STREAM_LEGACY));
  }
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;
  ~DeviceTable() { cuMemFree(ptr_); }
  CUdeviceptr get() const { return ptr_; }
  unsigned count() const { return static_cast<unsigned>(count_); }

 private:
  CUdeviceptr ptr_ = 0;
  std::size_t count_ = 0;
};

class Queue {
 public:
  Queue() { QC_CHECK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
  Queue(const Queue&) = delete;
  ~Queue() { cuStreamDestroy(stream_); }

  template <typename... Args>
  void launch(CUfunction fn, unsigned blocks, unsigned threads, Args... args) {
    void* packed[] = {&args...};
    QC_CHECK(cuLaunchKernel(fn, blocks, 1, 1, threads, 1, 1, 0, stream_, packed, nullptr));
  }
  void fetch(void* dst, CUdeviceptr src, std::size_t bytes) {
    QC_CHECK(cuMemcpyDtoHAsync(dst, src, bytes, stream_));
    QC_CHECK(cuStreamSynchronize(stream_));
  }

 private:
  CUstream stream_ = nullptr;
};

class OverlapEngine {
 public:
  explicit OverlapEngine(CUmodule module) { QC_CHECK(cuModuleGetFunction(&overlap_, module, "overlap_ss")); }

  std::vector<double> compute(const std::vector<Shell>& shells) {
    DeviceTable<Shell> basis(shells);
    const unsigned n = basis.count();
    std::vector<double> s(static_cast<std::size_t>(n) * n);
    CUdeviceptr out = 0;
    QC_CHECK(cuMemAlloc(&out, s.size() * sizeof(double)));
    queue_.launch(overlap_, (n * n + 255) / 256, 256, basis.get(), n, out);
    queue_.fetch(s.data(), out, s.size() * sizeof(double));
    QC_CHECK(cuMemFree(out));
    return s;
  }

 private:
  Queue queue_;
  CUfunction overlap_ = nullptr;
};

std::vector<Shell> hydrogenChain(int atoms, double spacing) {
  static const double exponents[] = {3.42525091, 0.62391373, 0.16885540};
  static const double coefficients[] = {0.15432897, 0.53532814, 0.44463454};
  std::vector<Shell> shells;
  for (int a = 0; a < atoms; ++a)
    for (int p = 0; p < 3; ++p) shells.push_back({{0, 0, a * spacing}, exponents[p], coefficients[p]});
  return shells;
}

int main(int argc, char** argv) {
  const char* modulePath = argc > 1 ? argv[1] : "overlap.cubin";
  QC_CHECK(cuInit(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  QC_CHECK(cuDeviceGet(&device, 0));
  QC_CHECK(cuDevicePrimaryCtxRetain(&context, device));
  QC_CHECK(cuCtxSetCurrent(context));
  CUmodule module = nullptr;
  QC_CHECK(cuModuleLoad(&module, modulePath));
  {
    OverlapEngine engine(module);
    double trace = 0;
    for (double spacing : {1.2, 1.4, 1.6, 1.8}) {
      const std::vector<Shell> shells = hydrogenChain(120, spacing);
      const std::vector<double> s = engine.compute(shells);
      for (std::size_t i = 0; i < shells.size(); ++i) trace += s[i * shells.size() + i];
    }
    std::printf("sum of traces %.8f\n", trace);
  }
  QC_CHECK(cuModuleUnload(module));
  QC_CHECK(cuDevicePrimaryCtxRelease(device));
}
