// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s --levels=definite,latent
// RUN: %check host-write-before-done %s --levels=definite,latent -- -DFIXED
//
// The class's pinned staging buffer is filled by each call of add(), nothing waits for the previous upload.
#include <cuda_runtime.h>

#include <cstring>

class Uploader {
 public:
  explicit Uploader(size_t bytes) : bytes_(bytes) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMallocHost(&staging_, bytes);
  }
  ~Uploader() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(staging_);
    cudaStreamDestroy(stream_);
  }
  void add(float* device, const float* values) {
    std::memcpy(staging_, values, bytes_);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'uploader.staging_' while cudaMemcpyAsync (host to device) on stream 'uploader.stream_', in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+6]]:5: note: 'uploader.staging_' is read here, on stream 'uploader.stream_'
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'uploader.stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+17]]:12: note: in the call to 'Uploader::Uploader' here
// CHECK-NOTES: :[[@LINE-13]]:5: note: 'uploader.staging_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: wait for stream 'uploader.stream_' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE+15]]:31: note: in the call to 'Uploader::add' here
    cudaMemcpyAsync(device, staging_, bytes_, cudaMemcpyHostToDevice, stream_);
#ifdef FIXED
    cudaStreamSynchronize(stream_);
#endif
  }

 private:
  size_t bytes_;
  cudaStream_t stream_;
  float* staging_;
};

void upload_all(float* const* device, const float* const* values, int n, size_t bytes) {
  Uploader uploader(bytes);
  for (int i = 0; i < n; ++i) uploader.add(device[i], values[i]);
}
