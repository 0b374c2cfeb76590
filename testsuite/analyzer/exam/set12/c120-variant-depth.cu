// Coverage statistics for variant calling: every chromosome is reduced on its own stream, the summary kernel
// runs once all of them are through.
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#define CHECKED(x)                                                                 \
  do {                                                                             \
    cudaError_t rc = (x);                                                          \
    if (rc != cudaSuccess) {                                                       \
      std::fprintf(stderr, "%s (line %d): %s\n", #x, __LINE__, cudaGetErrorString(rc)); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

__global__ void normalise(const int* sums, const int* lengths, float* means, int chromosomes) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < chromosomes) means[c] = float(sums[c]) / lengths[c];
}

class Chromosome {
 public:
  explicit Chromosome(int length) : length_(length) {
    CHECKED(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECKED(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
    CHECKED(cudaMalloc(&depth_, length * sizeof(int)));
    CHECKED(cub::DeviceReduce::Sum(nullptr, scratch_bytes_, depth_, static_cast<int*>(nullptr), length_, stream_));
    CHECKED(cudaMalloc(&scratch_, scratch_bytes_));
  }
  ~Chromosome() {
    CHECKED(cudaStreamSynchronize(stream_));
    CHECKED(cudaFree(scratch_));
    CHECKED(cudaFree(depth_));
    CHECKED(cudaEventDestroy(reduced_));
    CHECKED(cudaStreamDestroy(stream_));
  }
  Chromosome(const Chromosome&) = delete;
  Chromosome& operator=(const Chromosome&) = delete;

  void after(cudaEvent_t event) { CHECKED(cudaStreamWaitEvent(stream_, event, 0)); }

  // Takes over the decoded depths; they are dropped when the upload is known to be complete.
  void upload(std::vector<int> depths) {
    retire_uploads(false);
    auto pending = std::make_unique<Upload>();
    pending->depths = std::move(depths);
    CHECKED(cudaEventCreateWithFlags(&pending->done, cudaEventDisableTiming));
    void* dst = depth_;
    const void* src = pending->depths.data();
    std::size_t bytes = pending->depths.size() * sizeof(int);
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    std::size_t first = 0;
    CHECKED(cudaMemcpyBatchAsync(&dst, &src, &bytes, 1, &attributes, &first, 1, stream_));
    CHECKED(cudaEventRecord(pending->done, stream_));
    uploads_.push_back(std::move(pending));
  }

  void reduce_into(int* sum) {
    CHECKED(cub::DeviceReduce::Sum(scratch_, scratch_bytes_, depth_, sum, length_, stream_));
    CHECKED(cudaEventRecord(reduced_, stream_));
  }

  void retire_uploads(bool all) {
    while (!uploads_.empty()) {
      if (all)
        CHECKED(cudaEventSynchronize(uploads_.front()->done));
      else if (cudaEventQuery(uploads_.front()->done) != cudaSuccess)
        break;
      CHECKED(cudaEventDestroy(uploads_.front()->done));
      uploads_.pop_front();
    }
  }

  cudaEvent_t reduced() const { return reduced_; }
  int length() const { return length_; }

 private:
  struct Upload {
    std::vector<int> depths;
    cudaEvent_t done = nullptr;
  };

  int length_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
  int* depth_ = nullptr;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  std::deque<std::unique_ptr<Upload>> uploads_;
};

class CoverageReport {
 public:
  explicit CoverageReport(const std::vector<int>& lengths) {
    CHECKED(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    CHECKED(cudaEventCreateWithFlags(&summarised_, cudaEventDisableTiming));
    const std::size_t n = lengths.size();
    CHECKED(cudaMalloc(&sums_, n * sizeof(int)));
    CHECKED(cudaMalloc(&lengths_, n * sizeof(int)));
    CHECKED(cudaMalloc(&means_, n * sizeof(float)));
    CHECKED(cudaMallocHost(&host_means_, n * sizeof(float)));
    CHECKED(cudaMemcpyAsync(lengths_, lengths.data(), n * sizeof(int), cudaMemcpyHostToDevice, main_));
    CHECKED(cudaStreamSynchronize(main_));
    for (int length : lengths) chromosomes_.push_back(std::make_unique<Chromosome>(length));
  }
  ~CoverageReport() {
    CHECKED(cudaStreamSynchronize(main_));
    for (auto& c : chromosomes_) c->retire_uploads(true);
    chromosomes_.clear();
    CHECKED(cudaFreeHost(host_means_));
    for (void* p : {static_cast<void*>(means_), static_cast<void*>(lengths_), static_cast<void*>(sums_)}) CHECKED(cudaFree(p));
    CHECKED(cudaEventDestroy(summarised_));
    CHECKED(cudaStreamDestroy(main_));
  }
  CoverageReport(const CoverageReport&) = delete;
  CoverageReport& operator=(const CoverageReport&) = delete;

  template <typename Decode>
  std::vector<float> sample(Decode decode) {
    const int n = static_cast<int>(chromosomes_.size());
    for (int c = 0; c < n; ++c) {
      chromosomes_[c]->upload(decode(c, chromosomes_[c]->length()));
      chromosomes_[c]->after(summarised_);
      chromosomes_[c]->reduce_into(sums_ + c);
    }
    for (auto& c : chromosomes_) CHECKED(cudaStreamWaitEvent(main_, c->reduced(), 0));
    normalise<<<1, 64, 0, main_>>>(sums_, lengths_, means_, n);
    CHECKED(cudaEventRecord(summarised_, main_));
    CHECKED(cudaMemcpyAsync(host_means_, means_, n * sizeof(float), cudaMemcpyDeviceToHost, main_));
    CHECKED(cudaStreamSynchronize(main_));
    return std::vector<float>(host_means_, host_means_ + n);
  }

 private:
  cudaStream_t main_ = nullptr;
  cudaEvent_t summarised_ = nullptr;
  int *sums_ = nullptr, *lengths_ = nullptr;
  float *means_ = nullptr, *host_means_ = nullptr;
  std::vector<std::unique_ptr<Chromosome>> chromosomes_;
};

int main() {
  CoverageReport report({2489000, 2421000, 1982000, 1902000});
  for (int sample = 0; sample < 6; ++sample) {
    auto means = report.sample([sample](int chromosome, int length) {
      std::vector<int> depths(length);
      for (int i = 0; i < length; ++i) depths[i] = (i * 13 + sample + chromosome) % 60;
      return depths;
    });
    for (float m : means) std::printf("%.2f ", m);
    std::printf("\n");
  }
  return 0;
}
