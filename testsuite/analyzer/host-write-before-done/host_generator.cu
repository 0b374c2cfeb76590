// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done,host-write-before-done %s
// RUN: %check host-read-before-done,host-write-before-done %s -- -DFIXED
//
// A generator of the host computes random numbers at once, wherever it was made: the host may go on with them. One of
// the device works in its stream.
#include <cuda_runtime.h>
#include <curand.h>

constexpr size_t kCount = 1024;

class Noise {
 public:
  explicit Noise(cudaStream_t stream) {
#ifdef FIXED
    curandCreateGeneratorHost(&generator_, CURAND_RNG_PSEUDO_DEFAULT);
#else
    curandCreateGenerator(&generator_, CURAND_RNG_PSEUDO_DEFAULT);
#endif
    curandSetStream(generator_, stream);
    cudaMallocHost(&values_, kCount * sizeof(float));
  }
  ~Noise() {
    curandDestroyGenerator(generator_);
    cudaFreeHost(values_);
  }
  Noise(const Noise&) = delete;

  void draw(float amplitude) {
    curandGenerateUniform(generator_, values_, kCount);
    for (size_t i = 0; i < kCount; ++i) values_[i] *= amplitude;  // FIRES: host-write-before-done
  }

 private:
  curandGenerator_t generator_ = nullptr;
  float* values_ = nullptr;
};
