// Wafer inspection: the difference-and-threshold chain of a camera strip is captured once per
// strip height. A taller strip makes the scratch image grow, and the chain is captured anew.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace wafer {

#define WF_DO(expr)                                                        \
  do {                                                                     \
    if (cudaError_t wf_rc = (expr); wf_rc != cudaSuccess)                  \
      throw std::runtime_error(cudaGetErrorString(wf_rc));                 \
  } while (0)

__global__ void difference(const std::uint8_t* __restrict__ strip, const std::uint8_t* __restrict__ golden,
                           std::int16_t* __restrict__ scratch, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) scratch[i] = static_cast<std::int16_t>(strip[i] - golden[i]);
}

__global__ void flag_defects(const std::int16_t* __restrict__ scratch, unsigned* __restrict__ defects,
                             int pixels, int threshold) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels && abs(scratch[i]) > threshold) atomicAdd(defects, 1u);
}

// Executable graph with value semantics of a unique_ptr.
class Recording {
 public:
  Recording() = default;
  explicit Recording(cudaGraph_t graph) { WF_DO(cudaGraphInstantiate(&exec_, graph, 0)); }
  Recording(Recording&& o) noexcept : exec_(std::exchange(o.exec_, nullptr)) {}
  Recording& operator=(Recording&& o) noexcept {
    std::swap(exec_, o.exec_);
    return *this;
  }
  ~Recording() {
    if (exec_) cudaGraphExecDestroy(exec_);
  }
  explicit operator bool() const { return exec_ != nullptr; }
  void launch(cudaStream_t s) const { WF_DO(cudaGraphLaunch(exec_, s)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class Inspector {
 public:
  Inspector(int width, int max_rows) : width_(width) {
    WF_DO(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    const std::size_t bytes = static_cast<std::size_t>(width) * max_rows;
    WF_DO(cudaMalloc(&strip_, bytes));
    WF_DO(cudaMalloc(&golden_, bytes));
    WF_DO(cudaMalloc(&defects_, sizeof(unsigned)));
  }
  ~Inspector() {
    cudaStreamSynchronize(stream_);
    chain_ = Recording();
    cudaFree(scratch_);
    cudaFree(defects_);
    cudaFree(golden_);
    cudaFree(strip_);
    cudaStreamDestroy(stream_);
  }
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  void set_golden(const std::uint8_t* host, int rows) {
    WF_DO(cudaMemcpyAsync(golden_, host, static_cast<std::size_t>(width_) * rows,
                          cudaMemcpyHostToDevice, stream_));
    WF_DO(cudaStreamSynchronize(stream_));
  }

  // Number of suspicious pixels of one strip.
  unsigned inspect(const std::uint8_t* host, int rows) {
    prepare(rows);
    WF_DO(cudaMemcpyAsync(strip_, host, static_cast<std::size_t>(width_) * rows,
                          cudaMemcpyHostToDevice, stream_));
    chain_.launch(stream_);
    unsigned found = 0;
    WF_DO(cudaMemcpyAsync(&found, defects_, sizeof found, cudaMemcpyDeviceToHost, stream_));
    WF_DO(cudaStreamSynchronize(stream_));
    return found;
  }

 private:
  void prepare(int rows) {
    const std::size_t need = static_cast<std::size_t>(width_) * rows;
    if (need > capacity_) {
      WF_DO(cudaStreamSynchronize(stream_));
      chain_ = Recording();
      WF_DO(cudaFree(scratch_));
      scratch_ = nullptr;
      WF_DO(cudaMalloc(&scratch_, need * sizeof(std::int16_t)));
      capacity_ = need;
    }
    if (!chain_ || rows != recorded_rows_) record(rows);
  }

  void record(int rows) {
    const int pixels = width_ * rows;
    const int grid = (pixels + 255) / 256;
    cudaGraph_t graph = nullptr;
    WF_DO(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    WF_DO(cudaMemsetAsync(defects_, 0, sizeof(unsigned), stream_));
    difference<<<grid, 256, 0, stream_>>>(strip_, golden_, scratch_, pixels);
    flag_defects<<<grid, 256, 0, stream_>>>(scratch_, defects_, pixels, 24);
    WF_DO(cudaStreamEndCapture(stream_, &graph));
    chain_ = Recording(graph);
    WF_DO(cudaGraphDestroy(graph));
    recorded_rows_ = rows;
  }

  int width_;
  cudaStream_t stream_ = nullptr;
  std::uint8_t* strip_ = nullptr;
  std::uint8_t* golden_ = nullptr;
  std::int16_t* scratch_ = nullptr;
  unsigned* defects_ = nullptr;
  std::size_t capacity_ = 0;
  int recorded_rows_ = 0;
  Recording chain_;
};

// Inspects the strips of one wafer; their heights vary near the edge.
unsigned inspect_wafer(Inspector& inspector, const std::uint8_t* const* strips, const int* rows, int n) {
  unsigned total = 0;
  for (int i = 0; i < n; ++i) total += inspector.inspect(strips[i], rows[i]);
  return total;
}

}  // namespace wafer
