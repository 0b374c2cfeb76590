// Tomography back end: several filter streams append rows to one slab, a reducer folds the slab.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(x)                                                                    \
  do {                                                                            \
    cudaError_t e_ = (x);                                                         \
    if (e_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s failed: %s\n", #x, cudaGetErrorString(e_));        \
      std::exit(1);                                                               \
    }                                                                             \
  } while (0)

__global__ void rampFilter(float* row, int n, float gain) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) row[i] = gain * static_cast<float>(i < n / 2 ? i : n - i);
}

__global__ void foldSlab(const float* slab, float* image, int rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = image[i];
  for (int r = 0; r < rows; ++r) acc += slab[r * n + i];
  image[i] = acc;
}

class SlabBucket {
 public:
  SlabBucket(int maxRows, int width) : maxRows_(maxRows), width_(width) {
    TRY(cudaMalloc(&slab_, sizeof(float) * maxRows * width));
    TRY(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&drained_, cudaEventDisableTiming));
  }
  ~SlabBucket() {
    cudaEventDestroy(filled_);
    cudaEventDestroy(drained_);
    cudaFree(slab_);
  }

  bool full() const { return rows_ == maxRows_; }

  void append(const float* row, cudaStream_t producer) {
    TRY(cudaStreamWaitEvent(producer, drained_, 0));
    TRY(cudaMemcpyAsync(slab_ + static_cast<size_t>(rows_) * width_, row, sizeof(float) * width_,
                        cudaMemcpyDeviceToDevice, producer));
    TRY(cudaEventRecord(filled_, producer));
    ++rows_;
  }

  void flush(float* image, cudaStream_t reducer) {
    if (rows_ == 0) return;
    TRY(cudaStreamWaitEvent(reducer, filled_, 0));
    foldSlab<<<(width_ + 255) / 256, 256, 0, reducer>>>(slab_, image, rows_, width_);
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(drained_, reducer));
    rows_ = 0;
  }

 private:
  int maxRows_;
  int width_;
  int rows_ = 0;
  float* slab_ = nullptr;
  cudaEvent_t filled_ = nullptr;
  cudaEvent_t drained_ = nullptr;
};

struct Lane {
  cudaStream_t stream = nullptr;
  float* row = nullptr;
};

static std::vector<Lane> openLanes(int count, int width) {
  std::vector<Lane> lanes(count);
  for (Lane& l : lanes) {
    TRY(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    TRY(cudaMalloc(&l.row, sizeof(float) * width));
  }
  return lanes;
}

static void closeLanes(std::vector<Lane>& lanes) {
  for (Lane& l : lanes) {
    TRY(cudaStreamSynchronize(l.stream));
    TRY(cudaFree(l.row));
    TRY(cudaStreamDestroy(l.stream));
  }
  lanes.clear();
}

int main(int argc, char** argv) {
  const int width = 4096;
  const int views = argc > 1 ? std::atoi(argv[1]) : 360;

  cudaStream_t reducer;
  TRY(cudaStreamCreateWithFlags(&reducer, cudaStreamNonBlocking));
  float* image = nullptr;
  TRY(cudaMalloc(&image, sizeof(float) * width));
  TRY(cudaMemsetAsync(image, 0, sizeof(float) * width, reducer));

  std::vector<Lane> lanes = openLanes(4, width);
  std::vector<float> result(width);
  {
    SlabBucket bucket(8, width);
    for (int v = 0; v < views; ++v) {
      Lane& lane = lanes[v % lanes.size()];
      rampFilter<<<(width + 255) / 256, 256, 0, lane.stream>>>(lane.row, width, 1.0f / (v + 1));
      TRY(cudaGetLastError());
      bucket.append(lane.row, lane.stream);
      if (bucket.full()) bucket.flush(image, reducer);
    }
    bucket.flush(image, reducer);
    TRY(cudaMemcpyAsync(result.data(), image, sizeof(float) * width, cudaMemcpyDeviceToHost, reducer));
    TRY(cudaStreamSynchronize(reducer));
    closeLanes(lanes);
  }

  double sum = 0;
  for (float f : result) sum += f;
  std::printf("views %d, image sum %.4f\n", views, sum);
  TRY(cudaFree(image));
  TRY(cudaStreamDestroy(reducer));
  return 0;
}
