#ifndef HeterogeneousCore_CUDACore_ESProduct_standalone
#define HeterogeneousCore_CUDACore_ESProduct_standalone

#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#define cudaCheck(ARG) (cms::cuda::cudaCheck_(__FILE__, __LINE__, #ARG, (ARG)))

namespace cms {
  namespace cuda {
    inline bool cudaCheck_(const char* file, int line, const char* cmd, cudaError_t result) {
      if (result == cudaSuccess)
        return true;
      std::fprintf(stderr, "%s, line %d: %s: %s\n", file, line, cmd, cudaGetErrorString(result));
      std::abort();
    }

    using SharedStreamPtr = std::shared_ptr<std::remove_pointer_t<cudaStream_t>>;
    using SharedEventPtr = std::shared_ptr<std::remove_pointer_t<cudaEvent_t>>;

    inline SharedStreamPtr getStream() {
      cudaStream_t s;
      cudaCheck(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
      return SharedStreamPtr(s, [](cudaStream_t p) { cudaCheck(cudaStreamDestroy(p)); });
    }
    inline SharedEventPtr getEvent() {
      cudaEvent_t e;
      cudaCheck(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      return SharedEventPtr(e, [](cudaEvent_t p) { cudaCheck(cudaEventDestroy(p)); });
    }

    template <typename T>
    class ESProduct {
    public:
      ESProduct() : item_(std::make_unique<Item>()) { item_->m_event = getEvent(); }

      // transferAsync is called at most once, with the first stream that asks
      template <typename F>
      const T& dataForCurrentDeviceAsync(cudaStream_t cudaStream, F transferAsync) const {
        auto& data = *item_;
        // If the GPU data has already been filled, we can return it immediately
        if (not data.m_filled.load()) {
          std::scoped_lock<std::mutex> lk{data.m_mutex};
          if (data.m_fillingStream != nullptr) {
            // Someone else is filling
            if (cudaEventQuery(data.m_event.get()) == cudaSuccess) {
              data.m_filled.store(true);
            } else if (data.m_fillingStream != cudaStream) {
              cudaCheck(cudaStreamWaitEvent(cudaStream, data.m_event.get(), 0));
            }
          } else {
            transferAsync(data.m_data, cudaStream);
            cudaCheck(cudaEventRecord(data.m_event.get(), cudaStream));
            data.m_fillingStream = cudaStream;
          }
        }
        return data.m_data;
      }

    private:
      struct Item {
        mutable std::mutex m_mutex;
        mutable SharedEventPtr m_event;
        mutable cudaStream_t m_fillingStream = nullptr;
        mutable std::atomic<bool> m_filled = false;
        mutable T m_data;
      };
      std::unique_ptr<Item> item_;
    };
  }  // namespace cuda
}  // namespace cms

struct SiPixelGains {
  float* gains = nullptr;
  int size = 0;
  ~SiPixelGains() { cudaCheck(cudaFree(gains)); }
};

class SiPixelGainCalibrationForHLTGPU {
public:
  explicit SiPixelGainCalibrationForHLTGPU(int n) : n_(n) {
    cudaCheck(cudaMallocHost(&host_, n * sizeof(float)));
    for (int i = 0; i < n; ++i)
      host_[i] = 1.f + 0.001f * i;
  }
  ~SiPixelGainCalibrationForHLTGPU() { cudaCheck(cudaFreeHost(host_)); }

  const float* getGPUProductAsync(cudaStream_t stream) const {
    const auto& data = product_.dataForCurrentDeviceAsync(stream, [this](SiPixelGains& d, cudaStream_t s) {
      d.size = n_;
      cudaCheck(cudaMalloc(&d.gains, n_ * sizeof(float)));
      cudaCheck(cudaMemcpyAsync(d.gains, host_, n_ * sizeof(float), cudaMemcpyHostToDevice, s));
    });
    return data.gains;
  }

private:
  int n_;
  float* host_ = nullptr;
  cms::cuda::ESProduct<SiPixelGains> product_;
};

__global__ void calibDigis(float* adc, const float* gains, int n) {
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += gridDim.x * blockDim.x)
    adc[i] *= gains[i];
}

int main() {
  constexpr int n = 1 << 22, nStreams = 4;
  SiPixelGainCalibrationForHLTGPU conditions(n);
  std::vector<cms::cuda::SharedStreamPtr> streams;
  std::vector<float*> adc(nStreams);
  for (int i = 0; i < nStreams; ++i) {
    streams.push_back(cms::cuda::getStream());
    auto s = streams.back().get();
    cudaCheck(cudaMalloc(&adc[i], n * sizeof(float)));
    cudaCheck(cudaMemsetAsync(adc[i], 0, n * sizeof(float), s));
    const float* gains = conditions.getGPUProductAsync(s);
    calibDigis<<<64, 256, 0, s>>>(adc[i], gains, n);
    cudaCheck(cudaGetLastError());
  }
  for (int i = 0; i < nStreams; ++i) {
    cudaCheck(cudaStreamSynchronize(streams[i].get()));
    cudaCheck(cudaFree(adc[i]));
  }
  return 0;
}

#endif
