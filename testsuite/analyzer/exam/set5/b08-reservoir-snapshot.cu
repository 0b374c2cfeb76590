#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace resv {

inline void chk(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Fixed-size blocks of one allocation, handed out last in, first out.
class BlockArena {
 public:
  BlockArena(size_t block_bytes, int blocks) : bytes_(block_bytes) {
    chk(cudaMalloc(&base_, block_bytes * blocks));
    for (int i = blocks - 1; i >= 0; --i) free_.push_back(static_cast<char*>(base_) + i * block_bytes);
  }
  ~BlockArena() { cudaFree(base_); }
  BlockArena(const BlockArena&) = delete;

  void* acquire() {
    std::lock_guard<std::mutex> g(m_);
    if (free_.empty()) throw std::bad_alloc();
    void* p = free_.back();
    free_.pop_back();
    return p;
  }
  void release(void* p) {
    std::lock_guard<std::mutex> g(m_);
    free_.push_back(p);
  }
  size_t block_bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* base_ = nullptr;
  std::vector<void*> free_;
  std::mutex m_;
};

__global__ void advance(float* pressure, float* saturation, int cells, float dt) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cells) return;
  float p = pressure[c];
  saturation[c] = fminf(1.f, saturation[c] + dt * 1e-4f * p);
  pressure[c] = p * (1.f - 2e-4f * dt);
}

__global__ void pack_report(const float* pressure, const float* saturation, float2* out, int cells) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < cells) out[c] = make_float2(pressure[c], saturation[c]);
}

class SnapshotWriter {
 public:
  SnapshotWriter(BlockArena& arena, cudaStream_t compute, int cells, int slots)
      : arena_(arena), compute_(compute), cells_(cells), slots_(slots) {
    chk(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    chk(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    chk(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
    chk(cudaMallocHost(&host_, sizeof(float2) * cells * slots));
  }
  ~SnapshotWriter() {
    cudaStreamSynchronize(copy_);
    cudaFreeHost(host_);
    cudaEventDestroy(copied_);
    cudaEventDestroy(packed_);
    cudaStreamDestroy(copy_);
  }

  void submit(float2* report, int slot) {
    chk(cudaEventRecord(packed_, compute_));
    chk(cudaStreamWaitEvent(copy_, packed_, 0));
    chk(cudaMemcpyAsync(host_ + static_cast<size_t>(slot) * cells_, report, sizeof(float2) * cells_,
                        cudaMemcpyDeviceToHost, copy_));
    chk(cudaEventRecord(copied_, copy_));
    arena_.release(report);
  }

  const float2* finish() {
    chk(cudaStreamSynchronize(copy_));
    return host_;
  }

 private:
  BlockArena& arena_;
  cudaStream_t compute_;
  cudaStream_t copy_{};
  cudaEvent_t packed_{}, copied_{};
  float2* host_ = nullptr;
  int cells_, slots_;
};

}  // namespace resv

int main() {
  using namespace resv;
  const int cells = 1 << 20, reports = 24;
  cudaStream_t compute;
  chk(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  {
    BlockArena arena(sizeof(float2) * cells, 4);
    auto* p = static_cast<float*>(arena.acquire());
    auto* s = static_cast<float*>(arena.acquire());
    chk(cudaMemsetAsync(p, 0x42, sizeof(float) * cells, compute));
    chk(cudaMemsetAsync(s, 0, sizeof(float) * cells, compute));
    SnapshotWriter writer(arena, compute, cells, reports);
    const int b = (cells + 255) / 256;
    for (int r = 0; r < reports; ++r) {
      for (int k = 0; k < 4; ++k) advance<<<b, 256, 0, compute>>>(p, s, cells, 0.25f);
      auto* report = static_cast<float2*>(arena.acquire());
      pack_report<<<b, 256, 0, compute>>>(p, s, report, cells);
      chk(cudaGetLastError());
      writer.submit(report, r);
    }
    const float2* all = writer.finish();
    std::printf("last report, cell 0: p=%f s=%f\n", all[size_t(reports - 1) * cells].x, all[size_t(reports - 1) * cells].y);
    chk(cudaStreamSynchronize(compute));
  }
  cudaStreamDestroy(compute);
}
