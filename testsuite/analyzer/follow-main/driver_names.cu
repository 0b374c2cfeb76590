// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,likely,latent
// RUN: %check premature-free %s --levels=definite,likely,latent -- -DFIXED
//
// The driver's functions answer as the run-time library's do, under their own names. What only today's driver orders in
// the run is latent.
#include <cuda.h>

#include <vector>

class MappedWords {
 public:
  explicit MappedWords(size_t count) {
    void* at = nullptr;
    if (const CUresult result = cuMemHostAlloc(&at, count * 4, CU_MEMHOSTALLOC_DEVICEMAP); result != CUDA_SUCCESS) {
      const char* text = nullptr;
      cuGetErrorString(result, &text);
      throw text;
    }
    words_ = static_cast<unsigned*>(at);
  }
  ~MappedWords() { cuMemFreeHost(words_); }  // FIRES: premature-free
  CUdeviceptr device() const {
    CUdeviceptr at = 0;
    cuMemHostGetDevicePointer(&at, words_, 0);
    return at;
  }

 private:
  unsigned* words_;
};

class Checker {
 public:
  Checker() { cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING); }
  ~Checker() {
    cuStreamSynchronize(stream_);
    cuStreamDestroy(stream_);
  }
  void check(const std::vector<int>& pages) {
    MappedWords counters(64);
    cuMemsetD32Async(counters.device(), 0, 64, stream_);
#ifdef FIXED
    cuStreamSynchronize(stream_);
#endif
    for (const int page : pages) wait_for(page);
  }

 private:
  void wait_for(int) { cuStreamSynchronize(stream_); }
  CUstream stream_ = nullptr;
};

int main(int argc, char**) {
  cuInit(0);
  int devices = 0;
  cuDeviceGetCount(&devices);
  if (devices == 0) return 1;
  Checker checker;
  checker.check(std::vector<int>(static_cast<size_t>(argc - 1)));
}
