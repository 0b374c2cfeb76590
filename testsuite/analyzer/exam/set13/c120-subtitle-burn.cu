// Transcoder: decoded frames come from the stream-ordered allocator, get subtitles on
// the filter stream and leave through an encoder that copies on a stream of its own.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transcode {

inline void cuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class Stream {
 public:
  Stream() { cuda(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

// `after` continues when the present work of `before` is done.
void order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t event = nullptr;
  cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cuda(cudaEventRecord(event, before));
  cuda(cudaStreamWaitEvent(after, event, 0));
  cuda(cudaEventDestroy(event));
}

// Luma plane that is released on the stream that allocated it.
class Plane {
 public:
  Plane(std::size_t bytes, cudaStream_t home) : home_(home), bytes_(bytes) {
    cuda(cudaMallocAsync(reinterpret_cast<void**>(&data_), bytes, home));
  }
  Plane(Plane&& o) noexcept : home_(o.home_), bytes_(o.bytes_), data_(std::exchange(o.data_, nullptr)) {}
  Plane& operator=(Plane&&) = delete;
  ~Plane() {
    if (data_ != nullptr) cudaFreeAsync(data_, home_);
  }
  std::uint8_t* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Use in another stream: ordered after home, and home after it.
  template <typename Use>
  void lend(cudaStream_t guest, Use&& use) const {
    order(home_, guest);
    std::forward<Use>(use)(data_, guest);
    order(guest, home_);
  }

 private:
  cudaStream_t home_;
  std::size_t bytes_;
  std::uint8_t* data_ = nullptr;
};

__global__ void decodeFrame(std::uint8_t* luma, int n, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) luma[i] = static_cast<std::uint8_t>((i * 2654435761u + seed) >> 24);
}

__global__ void burnSubtitle(std::uint8_t* luma, int n, int rowBytes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rowBytes && n > rowBytes) luma[n - rowBytes + i] = 235;
}

class Transcoder {
 public:
  Transcoder(int width, int height, int frames) : width_(width), bytes_(std::size_t(width) * height), frames_(frames) {
    cuda(cudaMallocHost(reinterpret_cast<void**>(&output_), bytes_ * frames));
  }
  ~Transcoder() {
    cudaStreamSynchronize(encode_);
    cudaFreeHost(output_);
  }
  Transcoder(const Transcoder&) = delete;
  Transcoder& operator=(const Transcoder&) = delete;

  void run() {
    std::deque<Plane> inFlight;
    for (int f = 0; f < frames_; ++f) {
      inFlight.push_back(decode(f));
      subtitle(inFlight.back());
      if (inFlight.size() > 2) {
        emit(inFlight.front(), f - 2);
        inFlight.pop_front();
      }
    }
    for (int f = frames_ - static_cast<int>(inFlight.size()); !inFlight.empty(); ++f) {
      emit(inFlight.front(), f);
      inFlight.pop_front();
    }
  }

  unsigned long checksum() const {
    cuda(cudaStreamSynchronize(encode_));
    unsigned long sum = 0;
    for (std::size_t i = 0; i < bytes_ * frames_; ++i) sum += output_[i];
    return sum;
  }

 private:
  Plane decode(int f) {
    Plane plane(bytes_, decode_);
    const int n = static_cast<int>(bytes_);
    decodeFrame<<<(n + 255) / 256, 256, 0, decode_>>>(plane.data(), n, 977u * f);
    cuda(cudaGetLastError());
    return plane;
  }

  void subtitle(const Plane& plane) const {
    plane.lend(filter_, [&](std::uint8_t* luma, cudaStream_t stream) {
      burnSubtitle<<<(width_ + 127) / 128, 128, 0, stream>>>(luma, static_cast<int>(bytes_), width_);
      cuda(cudaGetLastError());
    });
  }

  void emit(const Plane& plane, int slot) {
    plane.lend(encode_, [&](const std::uint8_t* luma, cudaStream_t stream) {
      cuda(cudaMemcpyAsync(output_ + slot * bytes_, luma, bytes_, cudaMemcpyDeviceToHost, stream));
    });
  }

  int width_;
  std::size_t bytes_;
  int frames_;
  Stream decode_;
  Stream filter_;
  Stream encode_;
  std::uint8_t* output_ = nullptr;
};

}  // namespace transcode

int main() {
  transcode::Transcoder transcoder(1920, 1080, 50);
  transcoder.run();
  std::printf("checksum %lu\n", transcoder.checksum());
}
