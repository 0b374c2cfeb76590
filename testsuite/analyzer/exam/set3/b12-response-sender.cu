#include <cuda_runtime_api.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace triton { namespace backend { namespace fil {

class TritonException : public std::exception {
 public:
  explicit TritonException(std::string msg) : msg_(std::move(msg)) {}
  const char* what() const noexcept override { return msg_.c_str(); }

 private:
  std::string msg_;
};

inline void cuda_check(cudaError_t err)
{
  if (err != cudaSuccess) { throw TritonException(cudaGetErrorString(err)); }
}

enum class MemoryType { host, device };

/** A buffer which may be larger than the response it ends up in. */
template <typename T>
struct RawOutputBuffer {
  T* data;
  std::size_t size;
  MemoryType mtype;
};

/**
 * Tensor whose contents are computed on device and delivered to a final buffer which Triton
 * provided, on host or device.
 */
template <typename T>
class TritonTensor {
 public:
  TritonTensor(std::size_t size, RawOutputBuffer<T> final_buffer, cudaStream_t stream)
      : size_(size), final_(final_buffer), stream_(stream)
  {
    if (final_.size < size_) { throw TritonException("output buffer too small"); }
    if (final_.mtype != MemoryType::device) { cuda_check(cudaMallocAsync(reinterpret_cast<void**>(&owned_), size_ * sizeof(T), stream_)); }
  }
  ~TritonTensor() { if (owned_ != nullptr) { cudaFreeAsync(owned_, stream_); } }
  TritonTensor(const TritonTensor&) = delete;

  T* data() { return owned_ != nullptr ? owned_ : final_.data; }
  std::size_t size() const { return size_; }

  /** Bring the result to the final buffer. */
  void sync()
  {
    if (owned_ != nullptr) {
      cuda_check(cudaMemcpyAsync(final_.data, owned_, size_ * sizeof(T), cudaMemcpyDefault, stream_));
    }
  }

 private:
  std::size_t size_;
  RawOutputBuffer<T> final_;
  cudaStream_t stream_;
  T* owned_ = nullptr;
};

__global__ void infer_forest_kernel(float* preds, std::size_t rows, float threshold)
{
  std::size_t row = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (row < rows) { preds[row] = (row % 17) * 0.0625f > threshold ? 1.f : 0.f; }
}

class ModelInstance {
 public:
  explicit ModelInstance(std::size_t max_batch) : max_batch_(max_batch)
  {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cuda_check(cudaMallocHost(&pinned_, max_batch_ * sizeof(float)));
  }
  ~ModelInstance()
  {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(pinned_);
    cudaStreamDestroy(stream_);
  }

  std::string execute(std::size_t rows)
  {
    RawOutputBuffer<float> buffer{pinned_, max_batch_, MemoryType::host};
    TritonTensor<float> output(rows, buffer, stream_);
    predict(output);
    output.sync();
    return send_response(rows);
  }

 private:
  void predict(TritonTensor<float>& output)
  {
    infer_forest_kernel<<<(output.size() + 255) / 256, 256, 0, stream_>>>(output.data(), output.size(), 0.5f);
    cuda_check(cudaPeekAtLastError());
  }

  std::string send_response(std::size_t rows) const
  {
    std::string body;
    body.resize(rows * sizeof(float));
    std::memcpy(&body[0], pinned_, body.size());
    return body;
  }

  std::size_t max_batch_;
  cudaStream_t stream_ = nullptr;
  float* pinned_ = nullptr;
};

}}}  // namespace triton::backend::fil

int main()
{
  try {
    triton::backend::fil::ModelInstance instance(1 << 16);
    for (std::size_t rows : {std::size_t{128}, std::size_t{60000}, std::size_t{1}}) {
      std::cout << instance.execute(rows).size() << " bytes\n";
    }
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}
