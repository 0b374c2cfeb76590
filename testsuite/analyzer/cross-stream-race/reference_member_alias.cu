// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,event-wait-without-record %s
//
// A member that is a reference and a parameter may be one object: what is stored through the one is read through the
// other. The event is recorded in the stream that the work is on.
#include <cuda_runtime.h>

__global__ void paint(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void stamp(float* p) { p[threadIdx.x] += 1.0f; }

struct Context {
  cudaStream_t current;
};

class Stamper {
 public:
  explicit Stamper(Context& context) : context_(context) {
    cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&before_, cudaEventDisableTiming);
  }
  ~Stamper() {
    cudaStreamSynchronize(own_);
    cudaEventDestroy(before_);
    cudaStreamDestroy(own_);
  }
  void flush(float* p) {
    cudaEventRecord(before_, context_.current);
    cudaStreamWaitEvent(own_, before_, 0);
    stamp<<<1, 32, 0, own_>>>(p);
  }

 private:
  Context& context_;
  cudaStream_t own_;
  cudaEvent_t before_;
};

void page(Context& context, Stamper& stamper, float* p) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  context.current = s;
  paint<<<1, 32, 0, s>>>(p);
  stamper.flush(p);
}
