// Concat operator of an execution provider, recorded once and replayed.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace ep {

void Enforce(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void ConcatKernel(const float* const* inputs, const int64_t* offsets, int num_inputs, float* output) {
  const int which = blockIdx.y;
  if (which >= num_inputs) return;
  const int64_t begin = offsets[which], count = offsets[which + 1] - begin;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    output[begin + i] = inputs[which][i];
}

// Pinned host side + device side of a small constant array.
template <typename T>
class AsyncBuffer {
 public:
  AsyncBuffer(const T* values, size_t n, T* device) : n_(n), device_(device) {
    T* raw = nullptr;
    Enforce(cudaMallocHost(reinterpret_cast<void**>(&raw), n * sizeof(T)));
    host_ = std::shared_ptr<T>(raw, [](T* p) { cudaFreeHost(p); });
    std::copy(values, values + n, raw);
  }
  void CopyToGpu(cudaStream_t stream) {
    Enforce(cudaMemcpyAsync(device_, host_.get(), n_ * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  std::shared_ptr<void> Hold() const { return host_; }

 private:
  size_t n_;
  T* device_;
  std::shared_ptr<T> host_;
};

class RecordedConcat {
 public:
  RecordedConcat(int max_inputs, cudaStream_t stream) : stream_(stream) {
    Enforce(cudaMalloc(reinterpret_cast<void**>(&d_inputs_), max_inputs * sizeof(float*)));
    Enforce(cudaMalloc(reinterpret_cast<void**>(&d_offsets_), (max_inputs + 1) * sizeof(int64_t)));
  }
  ~RecordedConcat() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(d_offsets_);
    cudaFree(d_inputs_);
  }

  void Record(const std::vector<const float*>& inputs, const std::vector<int64_t>& offsets, float* output) {
    AsyncBuffer<const float*> ptrs(inputs.data(), inputs.size(), d_inputs_);
    AsyncBuffer<int64_t> offs(offsets.data(), offsets.size(), d_offsets_);
    retained_.assign({ptrs.Hold(), offs.Hold()});
    Enforce(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    ptrs.CopyToGpu(stream_);
    offs.CopyToGpu(stream_);
    ConcatKernel<<<dim3(32, unsigned(inputs.size())), 256, 0, stream_>>>(d_inputs_, d_offsets_, int(inputs.size()), output);
    cudaGraph_t graph = nullptr;
    Enforce(cudaStreamEndCapture(stream_, &graph));
    Enforce(cudaGraphInstantiate(&exec_, graph, 0));
    Enforce(cudaGraphDestroy(graph));
  }

  void Replay() { Enforce(cudaGraphLaunch(exec_, stream_)); }

 private:
  cudaStream_t stream_;
  const float** d_inputs_ = nullptr;
  int64_t* d_offsets_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  std::vector<std::shared_ptr<void>> retained_;
};

void DecodeLoop(const std::vector<const float*>& inputs, const std::vector<int64_t>& offsets, float* output,
                int tokens, cudaStream_t stream) {
  RecordedConcat concat(int(inputs.size()), stream);
  concat.Record(inputs, offsets, output);
  for (int t = 0; t < tokens; ++t) concat.Replay();
  Enforce(cudaStreamSynchronize(stream));
}

}  // namespace ep
