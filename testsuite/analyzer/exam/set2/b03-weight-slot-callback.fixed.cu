// Streams layer weights from pinned host memory through a few device slots.
#include <cuda_runtime.h>
#include <condition_variable>
#include <mutex>
#include <vector>

#define RETURN_IF_CUDA_ERROR(call)            \
  {                                           \
    auto err__ = (call);                      \
    if (err__ != cudaSuccess) return err__;   \
  }

struct LayerDesc {
  const float* pinned_weights;  // immutable for the life of the model
  int rows;
  int cols;
};

__global__ void gemv(const float* w, const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float acc = 0.0f;
  for (int c = 0; c < cols; ++c) acc += w[size_t(r) * cols + c] * x[c];
  y[r] = acc > 0.0f ? acc : 0.0f;
}

class SlotArena {
 public:
  cudaError_t Init(size_t slot_bytes, int slots) {
    for (int i = 0; i < slots; ++i) {
      float* p = nullptr;
      RETURN_IF_CUDA_ERROR(cudaMalloc(&p, slot_bytes));
      all_.push_back(p);
      free_.push_back(p);
    }
    return cudaSuccess;
  }
  ~SlotArena() {
    for (float* p : all_) cudaFree(p);
  }
  float* Acquire() {
    std::unique_lock<std::mutex> lock(mu_);
    cv_.wait(lock, [this] { return !free_.empty(); });
    float* p = free_.back();
    free_.pop_back();
    return p;
  }
  void Release(float* p) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      free_.push_back(p);
    }
    cv_.notify_one();
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::vector<float*> free_;
  std::vector<float*> all_;
};

struct ReleaseTicket {
  SlotArena* arena;
  float* slot;
};

static void CUDART_CB OnSlotDone(void* arg) {
  ReleaseTicket* t = static_cast<ReleaseTicket*>(arg);
  t->arena->Release(t->slot);
  delete t;
}

class StreamedModel {
 public:
  cudaError_t Init(size_t slot_bytes) {
    RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    RETURN_IF_CUDA_ERROR(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    RETURN_IF_CUDA_ERROR(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    return arena_.Init(slot_bytes, 3);
  }
  ~StreamedModel() {
    cudaStreamSynchronize(copy_);
    cudaStreamSynchronize(compute_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(copy_);
  }

  cudaError_t RunLayer(const LayerDesc& layer, const float* x, float* y) {
    float* slot = arena_.Acquire();
    size_t bytes = sizeof(float) * layer.rows * layer.cols;
    RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(slot, layer.pinned_weights, bytes, cudaMemcpyHostToDevice, copy_));
    RETURN_IF_CUDA_ERROR(cudaEventRecord(uploaded_, copy_));
    RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(compute_, uploaded_, 0));
    gemv<<<(layer.rows + 127) / 128, 128, 0, compute_>>>(slot, x, y, layer.rows, layer.cols);
    RETURN_IF_CUDA_ERROR(cudaGetLastError());
    return cudaLaunchHostFunc(compute_, OnSlotDone, new ReleaseTicket{&arena_, slot});
  }

  cudaError_t Wait() { return cudaStreamSynchronize(compute_); }

 private:
  SlotArena arena_;
  cudaStream_t copy_ = nullptr;
  cudaStream_t compute_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};
