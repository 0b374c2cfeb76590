// Device blocks that are shared by several streams. A block remembers every stream that may still
// use it; the next owner waits for all of them on the device.
#include <cuda_runtime.h>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace lidar {

inline void tryCuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class SharedBlocks {
 public:
  struct Block {
    void* ptr = nullptr;
    size_t bytes = 0;
    std::vector<cudaEvent_t> users;
  };

  ~SharedBlocks() {
    for (auto& b : all_) {
      for (cudaEvent_t e : b->users) {
        cudaEventSynchronize(e);
        cudaEventDestroy(e);
      }
      cudaFree(b->ptr);
    }
    for (cudaEvent_t e : spare_) cudaEventDestroy(e);
  }

  Block* acquire(size_t bytes, cudaStream_t stream) {
    std::lock_guard<std::mutex> g(mu_);
    for (size_t i = 0; i < free_.size(); ++i) {
      Block* b = free_[i];
      if (b->bytes < bytes) continue;
      free_[i] = free_.back();
      free_.pop_back();
      for (cudaEvent_t e : b->users) {
        tryCuda(cudaStreamWaitEvent(stream, e, 0));
        spare_.push_back(e);
      }
      b->users.clear();
      return b;
    }
    auto fresh = std::make_unique<Block>();
    fresh->bytes = bytes;
    tryCuda(cudaMalloc(&fresh->ptr, bytes));
    all_.push_back(std::move(fresh));
    return all_.back().get();
  }

  // Every stream in `users` has work queued that touches the block.
  void release(Block* b, std::initializer_list<cudaStream_t> users) {
    std::lock_guard<std::mutex> g(mu_);
    for (cudaStream_t s : users) {
      cudaEvent_t e = spareEvent();
      tryCuda(cudaEventRecord(e, s));
      b->users.push_back(e);
    }
    free_.push_back(b);
  }

 private:
  cudaEvent_t spareEvent() {
    cudaEvent_t e = nullptr;
    if (spare_.empty()) {
      tryCuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    } else {
      e = spare_.back();
      spare_.pop_back();
    }
    return e;
  }

  std::mutex mu_;
  std::vector<std::unique_ptr<Block>> all_;
  std::vector<Block*> free_;
  std::vector<cudaEvent_t> spare_;
};

__global__ void project(const float4* points, float* rangeImage, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) rangeImage[i] = sqrtf(points[i].x * points[i].x + points[i].y * points[i].y);
}

__global__ void groundCells(const float* rangeImage, int* cells, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&cells[static_cast<int>(rangeImage[i]) & 255], 1);
}

__global__ void edgeScore(const float* rangeImage, float* score, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) score[i] = fabsf(rangeImage[i] - rangeImage[i - 1]);
}

// One frontend per sensor. Several frontends share the blocks from different threads.
class Frontend {
 public:
  explicit Frontend(SharedBlocks& blocks) : blocks_(blocks) {
    for (cudaStream_t* s : {&project_, &ground_, &edges_}) tryCuda(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    tryCuda(cudaEventCreateWithFlags(&projected_, cudaEventDisableTiming));
  }
  ~Frontend() {
    for (cudaStream_t s : {project_, ground_, edges_}) {
      cudaStreamSynchronize(s);
      cudaStreamDestroy(s);
    }
    cudaEventDestroy(projected_);
  }

  // `points` must be complete; the outputs are complete after wait().
  void sweep(const float4* points, int n, int* cells, float* score) {
    const int grid = (n + 255) / 256;
    SharedBlocks::Block* image = blocks_.acquire(n * sizeof(float), project_);
    float* range = static_cast<float*>(image->ptr);
    project<<<grid, 256, 0, project_>>>(points, range, n);
    tryCuda(cudaEventRecord(projected_, project_));
    for (cudaStream_t s : {ground_, edges_}) tryCuda(cudaStreamWaitEvent(s, projected_, 0));
    groundCells<<<grid, 256, 0, ground_>>>(range, cells, n);
    edgeScore<<<grid, 256, 0, edges_>>>(range, score, n);
    blocks_.release(image, {ground_, edges_});
  }

  void wait() {
    for (cudaStream_t s : {project_, ground_, edges_}) tryCuda(cudaStreamSynchronize(s));
  }

 private:
  SharedBlocks& blocks_;
  cudaStream_t project_ = nullptr, ground_ = nullptr, edges_ = nullptr;
  cudaEvent_t projected_ = nullptr;
};

}  // namespace lidar
