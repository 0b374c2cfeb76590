// tile-stitch: renders a slide in horizontal strips on several lanes and then
// blends the strips into one mosaic on the caller's stream.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void ok(cudaError_t rc, int line) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(rc));
  std::exit(2);
}
#define OK(x) ok((x), __LINE__)

// A fan of side streams hanging off one main stream.
class LaneFan {
 public:
  LaneFan(cudaStream_t main, std::size_t lanes) : main_(main), lanes_(lanes), tail_(lanes) {
    OK(cudaEventCreateWithFlags(&head_, cudaEventDisableTiming));
    for (std::size_t i = 0; i < lanes; ++i) {
      OK(cudaStreamCreateWithFlags(&lanes_[i], cudaStreamNonBlocking));
      OK(cudaEventCreateWithFlags(&tail_[i], cudaEventDisableTiming));
    }
  }
  ~LaneFan() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      cudaStreamSynchronize(lanes_[i]);
      cudaEventDestroy(tail_[i]);
      cudaStreamDestroy(lanes_[i]);
    }
    cudaEventDestroy(head_);
  }
  std::size_t size() const { return lanes_.size(); }
  cudaStream_t operator[](std::size_t i) const { return lanes_[i]; }

  void fork() {
    OK(cudaEventRecord(head_, main_));
    for (cudaStream_t lane : lanes_) OK(cudaStreamWaitEvent(lane, head_, 0));
  }
  void join() {
    for (std::size_t i = 0; i + 1 < lanes_.size(); ++i) {
      OK(cudaEventRecord(tail_[i], lanes_[i]));
      OK(cudaStreamWaitEvent(main_, tail_[i], 0));
    }
  }

 private:
  cudaStream_t main_;
  cudaEvent_t head_ = nullptr;
  std::vector<cudaStream_t> lanes_;
  std::vector<cudaEvent_t> tail_;
};

struct Slide {
  int width = 0;
  int height = 0;
  float* pixels = nullptr;
  float* mosaic = nullptr;
};

__global__ void develop(float* strip, int width, int rows, int first_row) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < width && y < rows) {
    float v = 0.f;
    for (int k = 1; k <= 64; ++k) v += __sinf(0.01f * static_cast<float>(k * (x + first_row + y)));
    strip[static_cast<std::size_t>(y) * width + x] = v;
  }
}

__global__ void blend(const float* pixels, float* mosaic, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x >= width) return;
  const int up = y > 0 ? y - 1 : y;
  const int down = y + 1 < height ? y + 1 : y;
  mosaic[static_cast<std::size_t>(y) * width + x] =
      0.25f * pixels[static_cast<std::size_t>(up) * width + x] +
      0.50f * pixels[static_cast<std::size_t>(y) * width + x] +
      0.25f * pixels[static_cast<std::size_t>(down) * width + x];
}

void develop_strips(const Slide& s, LaneFan& fan) {
  const int rows = s.height / static_cast<int>(fan.size());
  fan.fork();
  for (std::size_t i = 0; i < fan.size(); ++i) {
    const int first = static_cast<int>(i) * rows;
    develop<<<dim3((s.width + 127) / 128, rows), 128, 0, fan[i]>>>(
        s.pixels + static_cast<std::size_t>(first) * s.width, s.width, rows, first);
  }
  OK(cudaGetLastError());
  fan.join();
}

int main() {
  Slide s;
  s.width = 4096;
  s.height = 3072;
  const std::size_t bytes = static_cast<std::size_t>(s.width) * s.height * sizeof(float);
  OK(cudaMalloc(&s.pixels, bytes));
  OK(cudaMalloc(&s.mosaic, bytes));
  cudaStream_t main_stream;
  OK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  std::vector<float> host(static_cast<std::size_t>(s.width) * s.height);
  {
    LaneFan fan(main_stream, 3);
    OK(cudaMemsetAsync(s.pixels, 0, bytes, main_stream));
    develop_strips(s, fan);
    blend<<<dim3((s.width + 127) / 128, s.height), 128, 0, main_stream>>>(s.pixels, s.mosaic, s.width, s.height);
    OK(cudaGetLastError());
    OK(cudaMemcpyAsync(host.data(), s.mosaic, bytes, cudaMemcpyDeviceToHost, main_stream));
    OK(cudaStreamSynchronize(main_stream));
  }
  double sum = 0.0;
  for (float v : host) sum += v;
  std::printf("mosaic mean %.6f\n", sum / static_cast<double>(host.size()));
  OK(cudaStreamDestroy(main_stream));
  OK(cudaFree(s.mosaic));
  OK(cudaFree(s.pixels));
  return 0;
}
