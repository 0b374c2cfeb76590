// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
// RUN: %check premature-free %s -- -DFIXED -DSHARED
//
// A std::shared_ptr that nobody shares ends what it holds: by a lambda, with what that has captured, a function, or an
// object. One that is copied may live on.
#include <cuda_runtime.h>

#include <memory>
#include <utility>

#if defined(FIXED) && !defined(SHARED)
#define WAIT(stream) cudaStreamSynchronize(stream)
#else
#define WAIT(stream)
#endif

__global__ void blur(const float* in, float* lines) { lines[threadIdx.x] = in[threadIdx.x]; }

class Lines {
 public:
  Lines(size_t bytes, cudaStream_t stream) {
    float* lines = nullptr;
    cudaMallocAsync(&lines, bytes, stream);
    lines_ = std::shared_ptr<float>(lines, [](float* p) { cudaFree(p); });
    // CHECK-MESSAGES: :[[@LINE-1]]:59: warning: 'p' is freed by cudaFree while kernel 'blur' on stream 'stream' still writes it [streamsan-premature-free]
  }
  float* data() const { return lines_.get(); }
#ifdef SHARED
  std::shared_ptr<float> keep() const { return lines_; }
#endif

 private:
  std::shared_ptr<float> lines_;
};

void smooth(const float* in, size_t bytes, cudaStream_t stream) {
  Lines lines(bytes, stream);
#ifdef SHARED
  static std::shared_ptr<float> kept;
  kept = lines.keep();
#endif
  blur<<<1, 256, 0, stream>>>(in, lines.data());
  WAIT(stream);
}

void by_function(const float* in, size_t bytes, cudaStream_t stream) {
  float* raw = nullptr;
  cudaMallocAsync(&raw, bytes, stream);
  std::shared_ptr<float> lines(raw, &cudaFree);
  blur<<<1, 256, 0, stream>>>(in, lines.get());
  WAIT(stream);
#ifdef SHARED
  static std::shared_ptr<float> kept;
  kept = lines;
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'lines' is freed by cudaFree while kernel 'blur' on stream 'stream' still writes it [streamsan-premature-free]

struct GiveBack {
  cudaStream_t stream;
  void operator()(float* p) const { cudaFreeAsync(p, stream); }
  // CHECK-MESSAGES: :[[@LINE-1]]:37: warning: 'raw' is freed by cudaFreeAsync on stream 'home' while kernel 'blur' on stream 'side' still writes it [streamsan-premature-free]
};

void on_its_stream(const float* in, size_t bytes) {
  cudaStream_t home, side;
  cudaStreamCreateWithFlags(&home, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  float* raw = nullptr;
  cudaMallocAsync(&raw, bytes, home);
  cudaStreamSynchronize(home);
  {
    std::shared_ptr<float> lines(raw, GiveBack{home});
    blur<<<1, 256, 0, side>>>(in, lines.get());
    WAIT(side);
#ifdef SHARED
    static std::shared_ptr<float> other;
    other = lines;
#endif
  }
  cudaStreamSynchronize(side);
  cudaStreamDestroy(home);
  cudaStreamDestroy(side);
}
