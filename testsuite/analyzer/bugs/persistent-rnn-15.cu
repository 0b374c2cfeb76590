// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s --levels=definite,latent
// RUN: %check host-read-before-done %s --levels=definite,latent -- -DFIXED
//
// baidu-research/persistent-rnn#15, HL: the flag is copied into a stack variable that is returned at once.
#include <cuda_runtime.h>

class Synchronizer {
 public:
  bool get_failed(cudaStream_t stream) const {
    bool failed = false;
    cudaMemcpyAsync(&failed, failed_flag_, sizeof(bool), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    return failed;
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may read 'failed' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'failed' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:12: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  }

 private:
  bool* failed_flag_ = nullptr;
};
