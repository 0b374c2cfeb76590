// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the instructions that move memory by tensor maps, one kernel each, and kernels without any. Only
// compiled, never run.
#include <cuda.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name, IMAGE)

// %0 shared memory, %1 tensor map, %2 coordinate, %3 barrier, %4 16-bit mask or offset.
#define KERNEL(name, text)                                                                                 \
  extern "C" __global__ void NAMED(name)(const __grid_constant__ CUtensorMap map, int at, unsigned memory, \
                                         unsigned barrier, unsigned short bits) {                          \
    asm volatile(text ::"r"(memory), "l"(&map), "r"(at), "r"(barrier), "h"(bits) : "memory");              \
  }
#define LOAD "cp.async.bulk.tensor"
#define ARRIVES "mbarrier::complete_tx::bytes"

KERNEL(load, LOAD ".1d.shared::cluster.global." ARRIVES " [%0], [%1, {%2}], [%3];")
KERNEL(load_volume, LOAD ".5d.shared::cluster.global." ARRIVES " [%0], [%1, {%2, %2, %2, %2, %2}], [%3];")
KERNEL(load_multicast, LOAD ".2d.shared::cluster.global." ARRIVES ".multicast::cluster [%0], [%1, {%2, %2}], [%3], %4;")
KERNEL(load_columns, LOAD ".3d.shared::cluster.global.im2col." ARRIVES " [%0], [%1, {%2, %2, %2}], [%3], {%4};")
KERNEL(load_maybe, "{.reg .pred p; setp.eq.s32 p, %2, 7; @p " LOAD ".1d.shared::cluster.global." ARRIVES
                   " [%0], [%1, {%2}], [%3];}")
KERNEL(store, LOAD ".1d.global.shared::cta.bulk_group [%1, {%2}], [%0];")
KERNEL(store_columns, LOAD ".3d.global.shared::cta.im2col_no_offs.bulk_group [%1, {%2, %2, %2}], [%0];")
KERNEL(reduce, "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%1, {%2}], [%0];")
#ifdef HAS_ROWS  // compute capability 10.0
KERNEL(load_rows, LOAD ".2d.shared::cta.global.tile::gather4." ARRIVES " [%0], [%1, {%2, %2, %2, %2, %2}], [%3];")
KERNEL(store_rows, LOAD ".2d.global.shared::cta.tile::scatter4.bulk_group [%1, {%2, %2, %2, %2, %2}], [%0];")
KERNEL(load_pair, LOAD ".2d.cta_group::2.shared::cluster.global." ARRIVES " [%0], [%1, {%2, %2}], [%3];")
#endif

// Into a cache: no access.
KERNEL(prefetch, "cp.async.bulk.prefetch.tensor.2d.L2.global [%1, {%2, %2}];")
// Without a tensor map: the Sanitizer reports it.
KERNEL(bulk, "cp.async.bulk.shared::cluster.global." ARRIVES " [%0], [%1], 128, [%3];")

extern "C" __global__ void NAMED(plain)(float* out) { out[threadIdx.x] = 1; }

#ifdef __CUDACC_RDC__
// Code of its own, which no kernel holds.
__device__ __noinline__ void load_for(const CUtensorMap* map, int at, unsigned memory, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(
          memory),
      "l"(map), "r"(at), "r"(barrier)
      : "memory");
}
extern "C" __global__ void NAMED(calls)(const __grid_constant__ CUtensorMap map, int at, unsigned memory,
                                        unsigned barrier) {
  load_for(&map, at, memory, barrier);
  load_for(&map, at + 1, memory, barrier);
}
#endif
