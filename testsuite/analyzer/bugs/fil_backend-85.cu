// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// triton-inference-server/fil_backend#85, HR: the response is sent before the copy into its buffer is done.
#include <cuda_runtime.h>

#include <cstdio>

class OutputTensor {
 public:
  explicit OutputTensor(size_t bytes) : bytes_(bytes) { cudaMallocHost(&buffer_, bytes); }
  ~OutputTensor() { cudaFreeHost(buffer_); }
  void sync(const float* device, cudaStream_t stream) {
    cudaMemcpyAsync(buffer_, device, bytes_, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
  }
  void send(std::FILE* connection) const {
    std::fwrite(buffer_, 1, bytes_, connection);  // FIRES: host-read-before-done
  }

 private:
  float* buffer_ = nullptr;
  size_t bytes_;
};

void respond(const float* scores, size_t bytes, std::FILE* connection, cudaStream_t stream) {
  OutputTensor output(bytes);
  output.sync(scores, stream);
  output.send(connection);
  cudaStreamSynchronize(stream);
}
