// Depth from stereo: left and right census transforms run on two streams and meet on a third one.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_TRY(expr)                                                                        \
  do {                                                                                        \
    cudaError_t status_ = (expr);                                                             \
    if (status_ != cudaSuccess)                                                               \
      throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(status_));      \
  } while (0)

__global__ void fillPattern(uint8_t* image, int n, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) image[i] = static_cast<uint8_t>((i * 31 + shift * 7) & 255);
}

__global__ void census(const uint8_t* image, uint32_t* code, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  uint32_t bits = 0;
  uint8_t c = image[y * w + x];
  for (int d = -2; d <= 2; ++d) {
    int xx = min(max(x + d, 0), w - 1);
    bits = (bits << 1) | (image[y * w + xx] > c);
  }
  code[y * w + x] = bits;
}

__global__ void matchCosts(const uint32_t* left, const uint32_t* right, uint8_t* cost, int w, int h, int disparity) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) cost[y * w + x] = __popc(left[y * w + x] ^ right[y * w + max(x - disparity, 0)]);
}

class StereoMatcher {
 public:
  StereoMatcher(int w, int h) : w_(w), h_(h) {
    for (cudaStream_t* s : {&left_, &right_, &match_}) CUDA_TRY(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreateWithFlags(&edge_, cudaEventDisableTiming));
    for (auto& e : eyes_) {
      CUDA_TRY(cudaMalloc(&e.image, size_t(w) * h));
      CUDA_TRY(cudaMalloc(&e.code, sizeof(uint32_t) * w * h));
    }
    CUDA_TRY(cudaMalloc(&cost_, size_t(w) * h));
  }
  ~StereoMatcher() {
    cudaDeviceSynchronize();
    for (auto& e : eyes_) {
      cudaFree(e.image);
      cudaFree(e.code);
    }
    cudaFree(cost_);
    cudaEventDestroy(edge_);
    for (cudaStream_t s : {left_, right_, match_}) cudaStreamDestroy(s);
  }
  StereoMatcher(const StereoMatcher&) = delete;
  StereoMatcher& operator=(const StereoMatcher&) = delete;

  void frame(int tick) {
    // The previous match has to be over before its inputs are written again.
    order(match_, left_);
    order(match_, right_);
    transform(eyes_[0], tick, left_);
    transform(eyes_[1], tick + 3, right_);
    order(left_, match_);
    order(right_, match_);
    matchCosts<<<dim3((w_ + 127) / 128, h_), 128, 0, match_>>>(eyes_[0].code, eyes_[1].code, cost_, w_, h_, 4);
    CUDA_TRY(cudaGetLastError());
  }

  std::vector<uint8_t> costs() {
    std::vector<uint8_t> out(size_t(w_) * h_);
    CUDA_TRY(cudaMemcpyAsync(out.data(), cost_, out.size(), cudaMemcpyDeviceToHost, match_));
    CUDA_TRY(cudaStreamSynchronize(match_));
    return out;
  }

 private:
  struct Eye {
    uint8_t* image = nullptr;
    uint32_t* code = nullptr;
  };

  // One event serves all edges: a wait keeps the state that it has seen.
  void order(cudaStream_t first, cudaStream_t second) {
    CUDA_TRY(cudaEventRecord(edge_, first));
    CUDA_TRY(cudaStreamWaitEvent(second, edge_, 0));
  }

  void transform(Eye& eye, int tick, cudaStream_t s) {
    const int n = w_ * h_;
    fillPattern<<<(n + 255) / 256, 256, 0, s>>>(eye.image, n, tick);
    census<<<dim3((w_ + 127) / 128, h_), 128, 0, s>>>(eye.image, eye.code, w_, h_);
    CUDA_TRY(cudaGetLastError());
  }

  int w_, h_;
  cudaStream_t left_{}, right_{}, match_{};
  cudaEvent_t edge_{};
  Eye eyes_[2];
  uint8_t* cost_ = nullptr;
};

int main() {
  StereoMatcher matcher(1280, 720);
  for (int t = 0; t < 120; ++t) matcher.frame(t);
  std::printf("%d\n", matcher.costs()[0]);
  return 0;
}
