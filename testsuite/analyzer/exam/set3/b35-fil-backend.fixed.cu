// Forest Inference Library backend: model instance execution.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace triton::backend::fil {

class TritonException : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

#define FIL_CUDA_CHECK(x)                                                         \
  do {                                                                            \
    auto const fil_status = (x);                                                  \
    if (fil_status != cudaSuccess) throw TritonException(cudaGetErrorString(fil_status)); \
  } while (0)

/** Output buffer provided by the server: pinned host memory, filled from a device-side scratch tensor. */
template <typename T>
class TritonTensor {
 public:
  TritonTensor(std::size_t size, cudaStream_t stream) : size_(size), stream_(stream)
  {
    FIL_CUDA_CHECK(cudaMallocAsync(reinterpret_cast<void**>(&device_), size * sizeof(T), stream));
    FIL_CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&final_), size * sizeof(T), cudaHostAllocPortable));
  }
  TritonTensor(TritonTensor&& o) noexcept
    : device_(std::exchange(o.device_, nullptr)), final_(std::exchange(o.final_, nullptr)), size_(o.size_), stream_(o.stream_)
  {
  }
  ~TritonTensor()
  {
    if (device_) cudaFreeAsync(device_, stream_);
    if (final_) {
      cudaStreamSynchronize(stream_);
      cudaFreeHost(final_);
    }
  }

  T* data() { return device_; }
  T const* final_buffer() const { return final_; }
  std::size_t size() const { return size_; }

  /** Moves the results to the buffer that the server will hand to the client. */
  void sync()
  {
    FIL_CUDA_CHECK(cudaMemcpyAsync(final_, device_, size_ * sizeof(T), cudaMemcpyDeviceToHost, stream_));
    FIL_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

 private:
  T* device_{};
  T* final_{};
  std::size_t size_;
  cudaStream_t stream_;
};

struct Response {
  std::string id;
  std::vector<float> payload;
};

using ResponseSender = std::function<void(Response&&)>;

__global__ void infer_stump(float const* rows, float* out, int n_rows, int n_cols, int feature, float threshold)
{
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n_rows) out[r] = rows[r * n_cols + feature] < threshold ? 0.f : 1.f;
}

class ModelInstanceState {
 public:
  ModelInstanceState(int feature, float threshold) : feature_(feature), threshold_(threshold)
  {
    FIL_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~ModelInstanceState() { cudaStreamDestroy(stream_); }
  cudaStream_t get_stream() const { return stream_; }

  void predict(float const* d_rows, TritonTensor<float>& output, int n_rows, int n_cols)
  {
    infer_stump<<<(n_rows + 127) / 128, 128, 0, stream_>>>(d_rows, output.data(), n_rows, n_cols, feature_, threshold_);
    FIL_CUDA_CHECK(cudaGetLastError());
    output.sync();
  }

 private:
  cudaStream_t stream_{};
  int feature_;
  float threshold_;
};

void send_response(std::string id, TritonTensor<float> const& output, ResponseSender const& sender)
{
  Response response;
  response.id = std::move(id);
  response.payload.resize(output.size());
  std::memcpy(response.payload.data(), output.final_buffer(), output.size() * sizeof(float));
  sender(std::move(response));
}

}  // namespace triton::backend::fil

void ModelInstanceExecute(triton::backend::fil::ModelInstanceState& instance, std::vector<std::string> const& request_ids,
                          std::vector<float const*> const& d_inputs, int n_rows, int n_cols,
                          triton::backend::fil::ResponseSender const& sender)
{
  using namespace triton::backend::fil;
  for (std::size_t i = 0; i < request_ids.size(); ++i) {
    TritonTensor<float> output(n_rows, instance.get_stream());
    instance.predict(d_inputs[i], output, n_rows, n_cols);
    send_response(request_ids[i], output, sender);
  }
}
