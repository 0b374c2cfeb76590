// Calibration payloads for the tracker are uploaded once per device, by whichever
// event stream asks first, and shared by all streams afterwards.
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace hep {

inline void throwIf(cudaError_t e, const char* where) {
  if (e == cudaSuccess) return;
  std::ostringstream os;
  os << where << ": " << cudaGetErrorName(e);
  throw std::runtime_error(os.str());
}

struct GainTable {
  float pedestal;
  float gain;
};

struct Digi {
  unsigned channel;
  unsigned adc;
};

__global__ void calibrate(const Digi* digis, int n, const GainTable* table, float* charge) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  GainTable g = table[digis[i].channel];
  charge[i] = (digis[i].adc - g.pedestal) * g.gain;
}

// A pinned host copy of one interval of validity plus one device copy per GPU.
class GainConditions {
 public:
  explicit GainConditions(const std::vector<GainTable>& src) : n_(src.size()) {
    int devices = 0;
    throwIf(cudaGetDeviceCount(&devices), "count");
    throwIf(cudaMallocHost(reinterpret_cast<void**>(&host_), n_ * sizeof(GainTable)), "host");
    std::memcpy(host_, src.data(), n_ * sizeof(GainTable));
    slots_ = std::vector<Slot>(devices);
  }
  ~GainConditions() {
    for (size_t d = 0; d < slots_.size(); ++d) {
      if (!slots_[d].data) continue;
      cudaSetDevice(static_cast<int>(d));
      cudaDeviceSynchronize();
      cudaEventDestroy(slots_[d].uploaded);
      cudaFree(slots_[d].data);
    }
    cudaFreeHost(host_);
  }
  GainConditions(const GainConditions&) = delete;
  GainConditions& operator=(const GainConditions&) = delete;

  const GainTable* get(cudaStream_t stream) const {
    int dev = 0;
    throwIf(cudaGetDevice(&dev), "device");
    Slot& slot = slots_[dev];
    std::lock_guard<std::mutex> guard(mutex_);
    if (!slot.data) {
      throwIf(cudaEventCreateWithFlags(&slot.uploaded, cudaEventDisableTiming), "event");
      throwIf(cudaMalloc(reinterpret_cast<void**>(&slot.data), n_ * sizeof(GainTable)), "alloc");
      upload(slot, stream);
    } else {
      throwIf(cudaStreamWaitEvent(stream, slot.uploaded, 0), "wait");
    }
    return slot.data;
  }

 private:
  struct Slot {
    GainTable* data = nullptr;
    cudaEvent_t uploaded = nullptr;
  };

  void upload(Slot& slot, cudaStream_t stream) const {
    throwIf(cudaMemcpyAsync(slot.data, host_, n_ * sizeof(GainTable), cudaMemcpyHostToDevice, stream), "upload");
    throwIf(cudaEventRecord(slot.uploaded, stream), "record");
  }

  size_t n_;
  GainTable* host_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::vector<Slot> slots_;
};

class EventStream {
 public:
  EventStream(int device, int maxDigis) : device_(device), max_(maxDigis) {
    throwIf(cudaSetDevice(device), "set");
    throwIf(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    throwIf(cudaMalloc(reinterpret_cast<void**>(&digis_), maxDigis * sizeof(Digi)), "digis");
    throwIf(cudaMalloc(reinterpret_cast<void**>(&charge_), maxDigis * sizeof(float)), "charge");
  }
  ~EventStream() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(digis_);
    cudaFree(charge_);
    cudaStreamDestroy(stream_);
  }

  void process(const std::vector<Digi>& raw, const GainConditions& gains, std::vector<float>& out) {
    throwIf(cudaSetDevice(device_), "set");
    const int n = static_cast<int>(raw.size()) < max_ ? static_cast<int>(raw.size()) : max_;
    out.resize(n);
    throwIf(cudaMemcpyAsync(digis_, raw.data(), n * sizeof(Digi), cudaMemcpyHostToDevice, stream_), "in");
    const GainTable* table = gains.get(stream_);
    calibrate<<<(n + 127) / 128, 128, 0, stream_>>>(digis_, n, table, charge_);
    throwIf(cudaGetLastError(), "calibrate");
    throwIf(cudaMemcpyAsync(out.data(), charge_, n * sizeof(float), cudaMemcpyDeviceToHost, stream_), "out");
    throwIf(cudaStreamSynchronize(stream_), "sync");
  }

 private:
  int device_;
  int max_;
  cudaStream_t stream_ = nullptr;
  Digi* digis_ = nullptr;
  float* charge_ = nullptr;
};

}  // namespace hep
