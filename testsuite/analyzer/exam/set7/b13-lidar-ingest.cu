// Lidar ingest: UDP packets are collected by a reader thread and binned into a range image on the GPU.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace lidar {

inline void require(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Return {
  uint16_t azimuth;
  uint16_t ring;
  float range;
  float intensity;
};

using Packet = std::vector<Return>;

__global__ void binReturns(const Return* returns, int count, float* image, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Return r = returns[i];
  image[r.ring * columns + r.azimuth % columns] = r.range;
}

// Device side of the ingest; used by the worker thread only.
class RangeImage {
 public:
  RangeImage(int rings, int columns, size_t maxReturns)
      : rings_(rings), columns_(columns), maxReturns_(maxReturns) {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    require(cudaMallocHost(&staging_, sizeof(Return) * maxReturns));
    require(cudaMalloc(&returns_, sizeof(Return) * maxReturns));
    require(cudaMalloc(&image_, sizeof(float) * rings * columns));
    require(cudaMemsetAsync(image_, 0, sizeof(float) * rings * columns, stream_));
  }
  ~RangeImage() {
    cudaStreamSynchronize(stream_);
    cudaFree(image_);
    cudaFree(returns_);
    cudaFreeHost(staging_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(stream_);
  }
  RangeImage(const RangeImage&) = delete;
  RangeImage& operator=(const RangeImage&) = delete;

  void consume(const std::vector<Packet>& packets) {
    const size_t count = gather(packets);
    if (count == 0) return;
    upload(count);
    const int n = static_cast<int>(count);
    binReturns<<<(n + 255) / 256, 256, 0, stream_>>>(returns_, n, image_, columns_);
    require(cudaGetLastError());
  }

  // Blocking: the complete image as it is after everything consumed so far.
  std::vector<float> download() {
    std::vector<float> host(static_cast<size_t>(rings_) * columns_);
    require(cudaMemcpyAsync(host.data(), image_, host.size() * sizeof(float),
                            cudaMemcpyDeviceToHost, stream_));
    require(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  size_t gather(const std::vector<Packet>& packets) {
    size_t used = 0;
    for (const Packet& p : packets) {
      if (used + p.size() > maxReturns_) break;
      std::memcpy(staging_ + used, p.data(), p.size() * sizeof(Return));
      used += p.size();
    }
    return used;
  }

  void upload(size_t count) {
    require(cudaMemcpyAsync(returns_, staging_, count * sizeof(Return), cudaMemcpyHostToDevice,
                            stream_));
    require(cudaEventRecord(uploaded_, stream_));
  }

  int rings_, columns_;
  size_t maxReturns_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  Return* staging_ = nullptr;
  Return* returns_ = nullptr;
  float* image_ = nullptr;
};

class IngestWorker {
 public:
  IngestWorker(int rings, int columns)
      : image_(rings, columns, 1u << 18), thread_([this] { loop(); }) {}
  ~IngestWorker() { stop(); }

  void submit(Packet packet) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(packet));
    wake_.notify_one();
  }

  std::vector<float> stopAndDownload() {
    stop();
    return image_.download();
  }

 private:
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void loop() {
    std::vector<Packet> batch;
    for (;;) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        batch.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
        queue_.clear();
      }
      image_.consume(batch);
    }
  }

  RangeImage image_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Packet> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lidar
