// Satellite tile processing with a device buffer pool shared by all lanes. A
// buffer remembers the stream that gave it back.
#include <cuda_runtime.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

inline void cuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class TilePool {
  struct Block {
    float* data = nullptr;
    cudaEvent_t idle = nullptr;
    cudaStream_t last = nullptr;
  };

 public:
  class Handle {
   public:
    Handle(TilePool* p, Block b, cudaStream_t s) : pool_(p), block_(b), stream_(s) {}
    Handle(Handle&& o) noexcept : pool_(std::exchange(o.pool_, nullptr)), block_(o.block_), stream_(o.stream_) {}
    Handle(const Handle&) = delete;
    ~Handle() {
      if (pool_) pool_->put(block_, stream_);
    }
    float* get() const { return block_.data; }

   private:
    TilePool* pool_;
    Block block_;
    cudaStream_t stream_;
  };

  explicit TilePool(size_t floats) : floats_(floats) {}
  ~TilePool() {
    for (Block& b : blocks_) {
      cudaEventSynchronize(b.idle);
      cudaEventDestroy(b.idle);
      cudaFree(b.data);
    }
  }

  Handle take(cudaStream_t s) {
    Block b;
    {
      std::lock_guard<std::mutex> g(m_);
      if (!blocks_.empty()) {
        b = blocks_.back();
        blocks_.pop_back();
      }
    }
    if (!b.data) {
      cuda(cudaMalloc(&b.data, floats_ * sizeof(float)));
      cuda(cudaEventCreateWithFlags(&b.idle, cudaEventDisableTiming));
    } else if (b.last != s) {
      cuda(cudaStreamWaitEvent(s, b.idle, 0));
    }
    return Handle(this, b, s);
  }

 private:
  void put(Block b, cudaStream_t s) {
    cudaEventRecord(b.idle, s);
    b.last = s;
    std::lock_guard<std::mutex> g(m_);
    blocks_.push_back(b);
  }

  size_t floats_;
  std::mutex m_;
  std::vector<Block> blocks_;
};

__global__ void radiometric(const float* raw, float* out, float gain, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = raw[i] * gain;
}
__global__ void ndvi(const float* red, const float* nir, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (nir[i] - red[i]) / (nir[i] + red[i] + 1e-6f);
}

struct TileJob {
  const float* red;
  const float* nir;
  float* result;
  int n;
};

static void processTile(TilePool& pool, const TileJob& job, cudaStream_t lane) {
  auto red = pool.take(lane);
  auto nir = pool.take(lane);
  const int g = (job.n + 255) / 256;
  radiometric<<<g, 256, 0, lane>>>(job.red, red.get(), 0.8f, job.n);
  radiometric<<<g, 256, 0, lane>>>(job.nir, nir.get(), 1.1f, job.n);
  ndvi<<<g, 256, 0, lane>>>(red.get(), nir.get(), job.result, job.n);
  cuda(cudaGetLastError());
}

void processScene(const std::vector<TileJob>& jobs, int lanes, size_t tileFloats) {
  std::vector<cudaStream_t> streams(lanes);
  for (auto& s : streams) cuda(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  TilePool pool(tileFloats);
  for (size_t i = 0; i < jobs.size(); ++i) processTile(pool, jobs[i], streams[i % streams.size()]);
  for (auto& s : streams) {
    cuda(cudaStreamSynchronize(s));
    cuda(cudaStreamDestroy(s));
  }
}
