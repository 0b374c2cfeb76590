// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for LLVM's unwinder inside of the guest, where its malloc() and free() are renamed to these.
//
// The recorder walks stacks from within calls of the guest's, and in a handler of SIGSEGV that may have interrupted the
// guest's malloc(). The unwinder wants memory for one thing only: the rows that a function's unwind table puts aside
// (DW_CFA_remember_state). Compilers nest them one deep, so each thread that is walking needs about one block. Where
// all are taken the unwinder gets none and ends the walk.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_BYTES 2048
#define BLOCKS 64

static _Alignas(16) char g_blocks[BLOCKS][BLOCK_BYTES];
static _Atomic(uint64_t) g_taken;

void* streamsan_unwind_malloc(size_t bytes) {
  uint64_t taken = atomic_load(&g_taken);
  while (bytes <= BLOCK_BYTES && ~taken) {
    const unsigned block = (unsigned)__builtin_ctzll(~taken);
    if (atomic_compare_exchange_weak(&g_taken, &taken, taken | UINT64_C(1) << block)) return g_blocks[block];
  }
  return NULL;
}

void streamsan_unwind_free(void* block) {
  if (block) atomic_fetch_and(&g_taken, ~(UINT64_C(1) << (size_t)((char*)block - g_blocks[0]) / BLOCK_BYTES));
}
