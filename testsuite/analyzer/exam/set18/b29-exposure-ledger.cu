// Net exposure by risk factor. Equity and rates books are valued on streams of
// their own; both end up in one ledger.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace risk {

inline void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  throw std::runtime_error(std::string(what) + ": " + (name ? name : "?"));
}
#define DRV(x) ::risk::drv((x), #x)

struct EquityPosition { int factor; double delta; double spot; };

// One thread for each factor: positions are sorted by factor, first[] has
// factors + 1 entries.
__global__ void bookEquity(const EquityPosition* pos, const int* first, int factors, double* ledger) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= factors) return;
  double sum = 0.0;
  for (int i = first[f]; i < first[f + 1]; ++i) sum += pos[i].delta * pos[i].spot;
  ledger[f] += sum;
}

__global__ void bumpCurve(const double* zero, double shift, int tenors, double* df) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < tenors) df[t] = exp(-(zero[t] + shift) * (t + 1) / 12.0);
}

__global__ void bookRates(const double* df, const double* flows, int tenors, int factors, double* ledger) {
  int f = blockIdx.x * blockDim.x + threadIdx.x;
  if (f >= factors) return;
  double pv = 0.0;
  for (int t = 0; t < tenors; ++t) pv += flows[std::size_t(f) * tenors + t] * df[t];
  ledger[f] += pv;
}

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) { DRV(cuMemAlloc(&ptr_, bytes)); }
  ~DeviceMemory() { cuMemFree(ptr_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  CUdeviceptr raw() const { return ptr_; }
  template <class T> T* as() const { return reinterpret_cast<T*>(ptr_); }

 private:
  CUdeviceptr ptr_ = 0;
};

struct Books {
  const EquityPosition* equity;
  const int* equityFirst;
  const double* zeroCurve;
  const double* flows;
};

// The caller has made a context current. `Books` is resident and constant.
class ExposureEngine {
 public:
  ExposureEngine(int factors, int tenors)
      : factors_(factors), tenors_(tenors), ledger_(factors * sizeof(double)),
        discount_(tenors * sizeof(double)) {
    for (CUstream* s : {&main_, &equity_, &rates_}) DRV(cuStreamCreate(s, CU_STREAM_NON_BLOCKING));
    for (CUevent* e : {&cleared_, &equityDone_, &ratesDone_}) DRV(cuEventCreate(e, CU_EVENT_DISABLE_TIMING));
    DRV(cuMemAllocHost(reinterpret_cast<void**>(&report_), factors * sizeof(double)));
  }
  ~ExposureEngine() {
    cuStreamSynchronize(main_);
    cuMemFreeHost(report_);
    for (CUevent e : {cleared_, equityDone_, ratesDone_}) cuEventDestroy(e);
    for (CUstream s : {main_, equity_, rates_}) cuStreamDestroy(s);
  }
  ExposureEngine(const ExposureEngine&) = delete;
  ExposureEngine& operator=(const ExposureEngine&) = delete;

  const double* revalue(const Books& books, double shift) {
    DRV(cuMemsetD32Async(ledger_.raw(), 0, factors_ * 2, main_));
    DRV(cuEventRecord(cleared_, main_));
    valueEquity(books);
    valueRates(books, shift);
    DRV(cuStreamWaitEvent(main_, equityDone_, 0));
    DRV(cuStreamWaitEvent(main_, ratesDone_, 0));
    DRV(cuMemcpyDtoHAsync(report_, ledger_.raw(), factors_ * sizeof(double), main_));
    DRV(cuStreamSynchronize(main_));
    return report_;
  }

 private:
  unsigned grid(int n) const { return unsigned(n + 127) / 128; }

  void valueEquity(const Books& b) {
    DRV(cuStreamWaitEvent(equity_, cleared_, 0));
    bookEquity<<<grid(factors_), 128, 0, equity_>>>(b.equity, b.equityFirst, factors_, ledger_.as<double>());
    DRV(cuEventRecord(equityDone_, equity_));
  }

  void valueRates(const Books& b, double shift) {
    bumpCurve<<<grid(tenors_), 128, 0, rates_>>>(b.zeroCurve, shift, tenors_, discount_.as<double>());
    DRV(cuStreamWaitEvent(rates_, cleared_, 0));
    bookRates<<<grid(factors_), 128, 0, rates_>>>(discount_.as<double>(), b.flows, tenors_, factors_,
                                                  ledger_.as<double>());
    DRV(cuEventRecord(ratesDone_, rates_));
  }

  int factors_;
  int tenors_;
  DeviceMemory ledger_;
  DeviceMemory discount_;
  CUstream main_ = nullptr, equity_ = nullptr, rates_ = nullptr;
  CUevent cleared_ = nullptr, equityDone_ = nullptr, ratesDone_ = nullptr;
  double* report_ = nullptr;
};

}  // namespace risk
