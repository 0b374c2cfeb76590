// Infrared absorbance service. A request is answered through a future, which the stream fulfils when the spectrum has arrived on
// the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace infrared {

inline void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void absorbance(const float* sample, const float* reference, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = -log10f((sample[i] + 1e-6f) / (reference[i] + 1e-6f));
}

class Request {
 public:
  explicit Request(std::size_t points) : points_(points) {
    check(cudaMallocHost(&input_, points * sizeof(float)));
    check(cudaMallocHost(&output_, points * sizeof(float)));
  }
  ~Request() {
    if (arrived_.valid()) arrived_.wait();
    cudaFreeHost(output_);
    cudaFreeHost(input_);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  float* input() { return input_; }
  float* output() { return output_; }
  std::size_t points() const { return points_; }

  // Everything queued in stream so far belongs to the request.
  void expect(cudaStream_t stream) {
    auto done = std::make_unique<std::promise<void>>();
    std::future<void> arrived = done->get_future();
    check(cudaLaunchHostFunc(stream, &Request::on_arrival, done.get()));
    done.release();
    arrived_ = std::move(arrived);
  }

  std::vector<float> result() {
    arrived_.wait();
    return std::vector<float>(output_, output_ + points_);
  }

 private:
  static void CUDART_CB on_arrival(void* data) {
    const std::unique_ptr<std::promise<void>> done(static_cast<std::promise<void>*>(data));
    done->set_value();
  }

  std::size_t points_;
  float* input_ = nullptr;
  float* output_ = nullptr;
  std::future<void> arrived_;
};

class Analyzer {
 public:
  explicit Analyzer(std::size_t points) : points_(points) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaMalloc(&sample_, bytes()));
    check(cudaMalloc(&reference_, bytes()));
    check(cudaMalloc(&result_, bytes()));
    check(cudaMemsetAsync(reference_, 0, bytes(), stream_));
  }
  ~Analyzer() {
    cudaStreamSynchronize(stream_);
    cudaFree(result_);
    cudaFree(reference_);
    cudaFree(sample_);
    cudaStreamDestroy(stream_);
  }
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  std::unique_ptr<Request> submit(const std::vector<float>& spectrum) {
    if (spectrum.size() != points_) throw std::invalid_argument("spectrum");
    auto request = std::make_unique<Request>(points_);
    std::copy(spectrum.begin(), spectrum.end(), request->input());
    queue(*request);
    request->expect(stream_);
    return request;
  }

 private:
  std::size_t bytes() const { return points_ * sizeof(float); }

  void queue(Request& request) {
    const int n = static_cast<int>(points_);
    check(cudaMemcpyAsync(sample_, request.input(), bytes(), cudaMemcpyHostToDevice, stream_));
    absorbance<<<(n + 255) / 256, 256, 0, stream_>>>(sample_, reference_, result_, n);
    check(cudaGetLastError());
    check(cudaMemcpyAsync(request.output(), result_, bytes(), cudaMemcpyDeviceToHost, stream_));
  }

  std::size_t points_;
  cudaStream_t stream_ = nullptr;
  float* sample_ = nullptr;
  float* reference_ = nullptr;
  float* result_ = nullptr;
};

std::vector<std::vector<float>> analyze_all(const std::vector<std::vector<float>>& spectra, std::size_t points) {
  Analyzer analyzer(points);
  std::vector<std::unique_ptr<Request>> requests;
  for (const auto& spectrum : spectra) requests.push_back(analyzer.submit(spectrum));
  std::vector<std::vector<float>> results;
  for (auto& request : requests) results.push_back(request->result());
  return results;
}

}  // namespace infrared
