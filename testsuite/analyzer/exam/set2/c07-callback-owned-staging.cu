// Fire-and-forget parameter updates: the staging block goes back to its pool
// from a host function that runs after the copy has read it.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace params {

class StagingPool {
public:
   StagingPool(size_t bytes, int count) : bytes_(bytes)
   {
      if (cudaMallocHost(&base_, bytes * count) != cudaSuccess) throw std::bad_alloc();
      for (int i = 0; i < count; ++i) free_.push_back(static_cast<char*>(base_) + i * bytes);
      count_ = count;
   }
   ~StagingPool()
   {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return static_cast<int>(free_.size()) == count_; });
      cudaFreeHost(base_);
   }
   size_t blockBytes() const { return bytes_; }
   void* get()
   {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !free_.empty(); });
      void* p = free_.back();
      free_.pop_back();
      return p;
   }
   void put(void* p)
   {
      std::lock_guard<std::mutex> lock(mutex_);
      free_.push_back(p);
      changed_.notify_all();
   }
private:
   size_t bytes_;
   int count_ = 0;
   void* base_ = nullptr;
   std::mutex mutex_;
   std::condition_variable changed_;
   std::vector<void*> free_;
};

struct Return {
   StagingPool* pool;
   void* block;
   static void CUDART_CB run(void* self)
   {
      Return* r = static_cast<Return*>(self);
      r->pool->put(r->block);
      delete r;
   }
};

__global__ void apply_delta(float* p, const float* delta, int n, float rate)
{
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i < n) p[i] += rate * delta[i];
}

class ParameterServer {
public:
   explicit ParameterServer(int n) : n_(n), pool_(n * sizeof(float), 4)
   {
      require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
      require(cudaMalloc(&params_, n * sizeof(float)));
      require(cudaMalloc(&delta_, n * sizeof(float)));
      require(cudaMemsetAsync(params_, 0, n * sizeof(float), stream_));
   }
   ~ParameterServer()
   {
      cudaStreamSynchronize(stream_);
      cudaFree(delta_);
      cudaFree(params_);
      cudaStreamDestroy(stream_);
   }
   void update(const float* delta, float rate)
   {
      void* block = pool_.get();
      std::memcpy(block, delta, n_ * sizeof(float));
      require(cudaMemcpyAsync(delta_, block, n_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
      require(cudaLaunchHostFunc(stream_, &Return::run, new Return{&pool_, block}));
      apply_delta<<<(n_ + 255) / 256, 256, 0, stream_>>>(params_, delta_, n_, rate);
      require(cudaGetLastError());
   }
private:
   static void require(cudaError_t e)
   {
      if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
   }
   int n_;
   StagingPool pool_;
   cudaStream_t stream_ = nullptr;
   float* params_ = nullptr;
   float* delta_ = nullptr;
};

} // namespace params
