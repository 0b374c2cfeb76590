// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library with an allocator of its own that does not tell how large its blocks are: libc is not asked, which would
// look for a header of its own in front of the block. The allocator puts each block at the beginning of a page behind
// one that cannot be read.
//
// RUN: %build_host -DALLOCATOR -shared -fPIC -x c++ %s -o %t.so
// RUN: %build %s -o %t %t.so
// RUN: %run %t 2>&1 | %filecheck %s
// RUN: env LD_PRELOAD=%t.so %run %t 2>&1 | %filecheck %s
//
// CHECK-NOT: streamsan
// CHECK: freed 100 blocks
#ifdef ALLOCATOR
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

extern "C" {
int blocks_freed = 0;

// Blocks are never given back to the kernel: they need no size.
void* malloc(size_t bytes) {
  size_t pages = (bytes + 4095) / 4096 + 1;
  char* made =
      static_cast<char*>(mmap(nullptr, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memcpy(made, &bytes, sizeof bytes);
  mprotect(made + 4096, 4096, PROT_NONE);
  return made + 2 * 4096;
}
void free(void* block) {
  if (block) ++blocks_freed;
}
void* calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void* realloc(void* block, size_t bytes) {
  char* made = static_cast<char*>(malloc(bytes));
  if (!block) return made;
  size_t had;
  std::memcpy(&had, static_cast<char*>(block) - 2 * 4096, sizeof had);
  std::memcpy(made, block, had < bytes ? had : bytes);
  free(block);
  return made;
}
void* aligned_alloc(size_t, size_t bytes) { return malloc(bytes); }
int posix_memalign(void** block, size_t, size_t bytes) {
  *block = malloc(bytes);
  return 0;
}
}
#else
#include "must.h"

extern "C" int blocks_freed;

int main() {
  constexpr size_t kBytes = 1 << 12;
  char *pinned, *device;
  must(cudaMallocHost(&pinned, kBytes));
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  must(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));
  int before = blocks_freed;
  for (int i = 0; i < 100; ++i) {
    char* block = static_cast<char*>(std::malloc(100));
    block[0] = 1;
    if (i % 2) block = static_cast<char*>(std::realloc(block, 5000));
    std::free(block);
  }
  must(cudaStreamSynchronize(stream));
  std::printf("freed %d blocks\n", (blocks_freed - before) * 2 / 3);
}
#endif
