// Scratch blocks for the beam formers. A beam former takes blocks that it has given back itself without waiting; if it has none,
// it takes over those of another one after what that one has queued.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace sonar {

inline void check(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

class ScratchPool {
 public:
  explicit ScratchPool(std::size_t block_bytes) : block_bytes_(block_bytes) {}
  ~ScratchPool() {
    cudaDeviceSynchronize();
    for (void* block : all_) cudaFree(block);
    for (auto& [stream, shelf] : shelves_) cudaEventDestroy(shelf.last);
  }
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;

  void* take(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Shelf& mine = shelf(stream);
    if (mine.blocks.empty()) restock(mine, stream);
    void* block = mine.blocks.back();
    mine.blocks.pop_back();
    return block;
  }

  void put(void* block, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    Shelf& mine = shelf(stream);
    mine.blocks.push_back(block);
    check(cudaEventRecord(mine.last, stream));
  }

  std::size_t block_bytes() const { return block_bytes_; }

 private:
  struct Shelf {
    std::vector<void*> blocks;
    cudaEvent_t last = nullptr;
  };

  Shelf& shelf(cudaStream_t stream) {
    Shelf& s = shelves_[stream];
    if (!s.last) check(cudaEventCreateWithFlags(&s.last, cudaEventDisableTiming));
    return s;
  }

  void restock(Shelf& mine, cudaStream_t stream) {
    for (auto& [other_stream, other] : shelves_) {
      if (other_stream == stream || other.blocks.empty()) continue;
      check(cudaStreamWaitEvent(stream, other.last, 0));
      mine.blocks.swap(other.blocks);
      check(cudaEventRecord(mine.last, stream));
      return;
    }
    void* block = nullptr;
    check(cudaMalloc(&block, block_bytes_));
    all_.push_back(block);
    mine.blocks.push_back(block);
  }

  std::size_t block_bytes_;
  std::mutex mutex_;
  std::map<cudaStream_t, Shelf> shelves_;
  std::vector<void*> all_;
};

__global__ void delay_and_sum(const float* elements, float* scratch, float* beam, int n, int delay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  scratch[i] = elements[(i + delay) % n];
  beam[i] = 0.5f * (scratch[i] + elements[i]);
}

class BeamFormer {
 public:
  BeamFormer(ScratchPool& pool, int samples) : pool_(pool), samples_(samples) {
    if (samples * sizeof(float) > pool.block_bytes()) throw std::length_error("samples");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check(cudaMalloc(&elements_, samples * sizeof(float)));
    check(cudaMalloc(&beam_, samples * sizeof(float)));
    check(cudaMemsetAsync(elements_, 0, samples * sizeof(float), stream_));
  }
  ~BeamFormer() {
    cudaStreamSynchronize(stream_);
    cudaFree(beam_);
    cudaFree(elements_);
    cudaStreamDestroy(stream_);
  }
  BeamFormer(const BeamFormer&) = delete;
  BeamFormer& operator=(const BeamFormer&) = delete;

  void form(int delay) {
    void* scratch = pool_.take(stream_);
    delay_and_sum<<<(samples_ + 255) / 256, 256, 0, stream_>>>(elements_, static_cast<float*>(scratch), beam_, samples_, delay);
    check(cudaGetLastError());
    pool_.put(scratch, stream_);
  }

 private:
  ScratchPool& pool_;
  int samples_;
  cudaStream_t stream_ = nullptr;
  float* elements_ = nullptr;
  float* beam_ = nullptr;
};

}  // namespace sonar

int main() {
  constexpr int kSamples = 1 << 20;
  sonar::ScratchPool pool(kSamples * sizeof(float));
  sonar::BeamFormer bow(pool, kSamples), keel(pool, kSamples), stern(pool, kSamples);
  for (int delay = 0; delay < 256; ++delay) {
    bow.form(delay);
    keel.form(delay);
    stern.form(delay);
  }
  return 0;
}
