// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that brings its own malloc (as jemalloc and friends do): the recorder never takes memory from it. The program
// looks at who calls: an address inside libstreamsan.so ends it with exit code 98.
//
// RUN: %build %s -o %t -Xcompiler -rdynamic -ldl
// RUN: %silent %t
// RUN: %racy %t race 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
#include <link.h>
#include <cstring>

#include "must.h"

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
}

static ElfW(Addr) ours_begin, ours_end;

static void look_at(void* caller) {
  auto at = reinterpret_cast<ElfW(Addr)>(caller);
  if (ours_begin <= at && at < ours_end) std::_Exit(98);
}

extern "C" void* malloc(size_t bytes) noexcept {
  look_at(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
extern "C" void free(void* pointer) noexcept {
  look_at(__builtin_return_address(0));
  __libc_free(pointer);
}

__global__ void touch(char*) {}

int main(int argc, char**) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        if (!std::strstr(info->dlpi_name, "libstreamsan.so")) return 0;
        ours_begin = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          ElfW(Addr) end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
          if (info->dlpi_phdr[i].p_type == PT_LOAD && end > ours_end) ours_end = end;
        }
        return 1;
      },
      nullptr);
  if (ours_end == 0) return 97;
  cudaStream_t first, second;
  must(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 1000; ++i) {
    must(cudaMemsetAsync(buffer, 0, 4096, first));
    touch<<<1, 32, 0, first>>>(buffer);
  }
  if (argc == 1) must(cudaStreamSynchronize(first));
  must(cudaMemsetAsync(buffer, 0, 4096, second));
  return 0;
}
