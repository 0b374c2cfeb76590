// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caching pool as programs write them: one block of a cudaMalloc that is handed out again and again, to work of its
// own stream at once, to other streams' work after the events of the streams that it knows of (as by record_stream).
//
//   caching_pool reused     a second stream uses the block, the block is freed and handed out again. Racy: the pool did
//                           not know of that stream, and what comes next may overwrite what it still reads
//   caching_pool released   likewise, but the block is not handed out again: no harm yet
//
// With -DANNOTATED the pool tells StreamSan what it does. Without, a correct program is silent as well.
#include <cstring>
#include <vector>

#include "kernels.cuh"
#include "stage.h"
#ifdef ANNOTATED
#include "../../../include/streamsan/annotate.h"
#endif

namespace {

class Pool {
 public:
  explicit Pool(cudaStream_t stream) : stream_(stream), block_(device_floats()) {}

  float* allocate() {
    for (cudaEvent_t used : used_) CHECK(cudaStreamWaitEvent(stream_, used, 0));
    used_.clear();
#ifdef ANNOTATED
    streamsan_block_allocated(block_, kBytes, stream_);
#endif
    return block_;
  }

  /// Another stream uses the block.
  [[maybe_unused]] void tell(cudaStream_t user) {
    users_.push_back(user);
#ifdef ANNOTATED
    streamsan_block_used(block_, user);
#endif
  }

  void free() {
#ifdef ANNOTATED
    streamsan_block_freed(block_, stream_);
#endif
    for (cudaStream_t user : users_) {
      used_.push_back(new_event());
      CHECK(cudaEventRecord(used_.back(), user));
    }
    users_.clear();
  }

 private:
  cudaStream_t stream_;
  float* block_;
  std::vector<cudaStream_t> users_;
  std::vector<cudaEvent_t> used_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t user = non_blocking_stream();
  float* result = device_floats();
  Pool pool(owner);

  float* block = pool.allocate();
  fill<<<blocks_for(kCount), 256, 0, owner>>>(block, kCount, 2.0f);
  CHECK(cudaGetLastError());
  order(owner, user);
  scale<<<blocks_for(kCount), 256, 0, user>>>(block, result, kCount, 3.0f);  // site: kernel
  CHECK(cudaGetLastError());
#ifdef FIXED
  pool.tell(user);
#endif
  pool.free();  // site: free
  if (std::strcmp(argv[1], "reused") == 0) {
    block = pool.allocate();  // site: reuse
    fill<<<blocks_for(kCount), 256, 0, owner>>>(block, kCount, 7.0f);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
#ifdef FIXED
  float* host = pinned_floats();
  CHECK(cudaMemcpy(host, result, kBytes, cudaMemcpyDeviceToHost));
  expect_all(host, kCount, 6.0f);
#endif
  std::printf("%s: done\n", argv[1]);
  return 0;
}
