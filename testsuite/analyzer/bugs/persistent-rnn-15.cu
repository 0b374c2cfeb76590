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
    return failed;  // FIRES: host-read-before-done
  }

 private:
  bool* failed_flag_ = nullptr;
};
