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
    std::fwrite(buffer_, 1, bytes_, connection);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may read 'output.buffer_' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE+16]]:3: note: in the call to 'OutputTensor::send' here
// CHECK-NOTES: :[[@LINE-9]]:5: note: 'output.buffer_' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+13]]:3: note: in the call to 'OutputTensor::sync' here
// CHECK-NOTES: :[[@LINE-14]]:57: note: 'output.buffer_' is allocated here
// CHECK-NOTES: :[[@LINE+10]]:16: note: in the call to 'OutputTensor::OutputTensor' here
// CHECK-NOTES: :[[@LINE-7]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before the read
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
