// Fluorescence microscopy: background removal and contrast stretching of image stacks.
#include <cuda_runtime.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hal {

class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void verify(cudaError_t e, const std::string& op) {
  if (e != cudaSuccess) throw Error(op + ": " + cudaGetErrorString(e));
}

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) { verify(cudaMalloc(&p_, n * sizeof(T)), "Buffer"); }
  ~Buffer() { cudaFree(p_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return p_; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
};

// In-order queue of one device. Copies block the caller, kernels do not.
class Queue {
 public:
  Queue() { verify(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "Queue"); }
  ~Queue() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  template <typename... P, typename... A>
  void enqueue(void (*kernel)(P...), size_t items, A&&... args) {
    constexpr unsigned kBlock = 256;
    kernel<<<unsigned((items + kBlock - 1) / kBlock), kBlock, 0, stream_>>>(std::forward<A>(args)...);
    verify(cudaGetLastError(), "enqueue");
  }

  template <typename T>
  void write(const Buffer<T>& dst, const std::vector<T>& src) {
    verify(cudaMemcpy(dst.get(), src.data(), src.size() * sizeof(T), cudaMemcpyHostToDevice), "write");
  }

  template <typename T>
  void read(std::vector<T>& dst, const Buffer<T>& src) {
    dst.resize(src.size());
    verify(cudaMemcpy(dst.data(), src.get(), src.size() * sizeof(T), cudaMemcpyDeviceToHost), "read");
  }

  void wait() { verify(cudaStreamSynchronize(stream_), "wait"); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace hal

__global__ void subtract_background(uint16_t* img, const uint16_t* background, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  img[i] = img[i] > background[i] ? img[i] - background[i] : 0;
}

__global__ void stretch(uint16_t* img, uint16_t black, float gain, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = (img[i] > black ? img[i] - black : 0) * gain;
  img[i] = static_cast<uint16_t>(fminf(v, 65535.f));
}

class StackProcessor {
 public:
  StackProcessor(int width, int height)
      : n_(width * height), image_(n_), background_(n_) {
    queue_.write(background_, std::vector<uint16_t>(n_, 120));
    queue_.wait();
  }

  void process(std::vector<uint16_t>& slice) {
    queue_.write(image_, slice);
    queue_.enqueue(subtract_background, n_, image_.get(), background_.get(), n_);
    queue_.enqueue(stretch, n_, image_.get(), uint16_t(32), 6.5f, n_);
    queue_.read(slice, image_);
  }

 private:
  int n_;
  hal::Buffer<uint16_t> image_;
  hal::Buffer<uint16_t> background_;
  hal::Queue queue_;
};

int main() {
  try {
    constexpr int kW = 2048, kH = 2048, kSlices = 40;
    StackProcessor proc(kW, kH);
    std::uint64_t checksum = 0;
    for (int z = 0; z < kSlices; ++z) {
      std::vector<uint16_t> slice(size_t(kW) * kH, uint16_t(100 + 17 * z));
      proc.process(slice);
      checksum += slice[z * 31];
    }
    std::cout << "checksum " << checksum << '\n';
  } catch (const hal::Error& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
