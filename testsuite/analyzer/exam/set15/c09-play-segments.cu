#include <cuda_runtime.h>

#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

// Segmentation of matches into plays: trajectories are smoothed on an analysis stream and
// exported on a second one. Temporaries come from the stream-ordered allocator.
namespace plays {

inline void must(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void smooth_kernel(const float2* track, float2* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 a = track[i > 0 ? i - 1 : i], b = track[i], c = track[i + 1 < n ? i + 1 : i];
  out[i] = make_float2((a.x + b.x + c.x) / 3.f, (a.y + b.y + c.y) / 3.f);
}

__global__ void speed_kernel(const float2* track, float* speed, int n, float fps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 a = track[i > 0 ? i - 1 : 0], b = track[i];
  speed[i] = fps * sqrtf((b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y));
}

class EventPool {
 public:
  ~EventPool() {
    for (cudaEvent_t e : all_) cudaEventDestroy(e);
  }
  // The event is reused after its waits have been enqueued.
  void order(cudaStream_t first, cudaStream_t then) {
    cudaEvent_t& e = by_stream_[first];
    if (!e) {
      must(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      all_.push_back(e);
    }
    must(cudaEventRecord(e, first));
    must(cudaStreamWaitEvent(then, e, 0));
  }

 private:
  std::map<cudaStream_t, cudaEvent_t> by_stream_;
  std::vector<cudaEvent_t> all_;
};

template <typename T>
class Temporary {
 public:
  Temporary(int n, cudaStream_t stream) : stream_(stream) {
    must(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), stream_));
  }
  ~Temporary() {
    if (p_) cudaFreeAsync(p_, stream_);
  }
  Temporary(Temporary&& o) noexcept : p_(std::exchange(o.p_, nullptr)), stream_(o.stream_) {}
  Temporary& operator=(Temporary&&) = delete;

  // From now on the memory belongs to `stream`.
  void move_to(cudaStream_t stream, EventPool& events) {
    events.order(stream_, stream);
    stream_ = stream;
  }
  T* get() const { return p_; }

 private:
  T* p_ = nullptr;
  cudaStream_t stream_;
};

class PlayAnalyser {
 public:
  PlayAnalyser() {
    must(cudaStreamCreateWithFlags(&analysis_, cudaStreamNonBlocking));
    must(cudaStreamCreateWithFlags(&export_, cudaStreamNonBlocking));
  }
  ~PlayAnalyser() {
    cudaStreamSynchronize(analysis_);
    cudaStreamSynchronize(export_);
    cudaStreamDestroy(export_);
    cudaStreamDestroy(analysis_);
  }
  PlayAnalyser(const PlayAnalyser&) = delete;
  PlayAnalyser& operator=(const PlayAnalyser&) = delete;

  // Both host arrays are pinned; speed is complete after finish(), track may be reused then.
  void analyse(const float2* track, int n, float fps, float* speed) {
    const unsigned blocks = (n + 127) / 128;
    Temporary<float> result(n, analysis_);
    {
      Temporary<float2> raw(n, analysis_);
      Temporary<float2> smooth(n, analysis_);
      must(cudaMemcpyAsync(raw.get(), track, n * sizeof(float2), cudaMemcpyHostToDevice, analysis_));
      smooth_kernel<<<blocks, 128, 0, analysis_>>>(raw.get(), smooth.get(), n);
      speed_kernel<<<blocks, 128, 0, analysis_>>>(smooth.get(), result.get(), n, fps);
      must(cudaGetLastError());
    }
    store(std::move(result), speed, n);
  }

  void finish() {
    must(cudaStreamSynchronize(analysis_));
    must(cudaStreamSynchronize(export_));
  }

 private:
  void store(Temporary<float> result, float* speed, int n) {
    result.move_to(export_, events_);
    must(cudaMemcpyAsync(speed, result.get(), n * sizeof(float), cudaMemcpyDeviceToHost, export_));
  }

  cudaStream_t analysis_ = nullptr;
  cudaStream_t export_ = nullptr;
  EventPool events_;
};

}  // namespace plays
