// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --poison fills the blocks of an annotated pool when they go back: where the program states the stream, where it is the block's own,
// and where the host has waited. A fill in a stream needs none of ours; one for the host does. Bytes beside the block,
// blocks that live, and blocks without the option stay as they are.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: %run %t | %filecheck %s --check-prefix=OFF
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:poison=1 STREAMSAN_NULL_COUNTS=%t.driver %run %t | %filecheck %s --check-prefix=ON
// RUN: %filecheck %s --check-prefix=COUNTS --input-file %t.driver
//
// OFF: stated 11 11 beside 11
// OFF: same stream 11 11 beside 11
// OFF: host 11 11 beside 11
// OFF: alive 11 11
// ON: stated ff ff beside 11
// ON: same stream ff ff beside 11
// ON: host ff ff beside 11
// ON: alive 11 11
//
// The program's stream, and one for the block that the host has waited for.
// COUNTS: cuStreamCreate 2
#include <streamsan/annotate.h>

#include <cstring>

#include "must.h"

constexpr size_t kBlock = 1024;

static void tell(const char* what, const char* at, bool beside = true) {
  std::printf("%s %02x %02x", what, static_cast<unsigned char>(at[0]), static_cast<unsigned char>(at[kBlock - 1]));
  if (beside) std::printf(" beside %02x", static_cast<unsigned char>(at[kBlock]));
  std::printf("\n");
}

int main() {
  char* pool;  // memory of the null driver is host memory
  must(cudaMalloc(&pool, 16 * kBlock));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  std::memset(pool, 0x11, 16 * kBlock);
  for (int i = 0; i < 4; ++i) streamsan_block_allocated(pool + 2 * i * kBlock, kBlock, stream);
  streamsan_block_freed(pool, stream);
  streamsan_block_freed(pool + 2 * kBlock, STREAMSAN_SAME_STREAM);
  streamsan_block_freed(pool + 4 * kBlock, STREAMSAN_HOST);
  must(cudaStreamSynchronize(stream));
  tell("stated", pool);
  tell("same stream", pool + 2 * kBlock);
  tell("host", pool + 4 * kBlock);
  tell("alive", pool + 6 * kBlock, false);
}
