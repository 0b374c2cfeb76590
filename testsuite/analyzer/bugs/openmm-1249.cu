// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// openmm/openmm#1249, XW: the PME stream and the main stream both add to one energy buffer.
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void nonbonded(const float* positions, double* energy) { energy[threadIdx.x] += positions[threadIdx.x]; }
__global__ void reciprocal(const float* grid, double* energy) { energy[threadIdx.x] += grid[threadIdx.x]; }

static void add_pme_energy(const float* grid, double* energy, CUstream pme) {
  reciprocal<<<1, 256, 0, pme>>>(grid, energy);
}

void energy(const float* positions, const float* grid, double* buffer, double* pme_buffer) {
  CUstream main_stream, pme;
  cuStreamCreate(&main_stream, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&pme, CU_STREAM_NON_BLOCKING);
#ifdef FIXED
  add_pme_energy(grid, pme_buffer, pme);
#else
  add_pme_energy(grid, buffer, pme);
#endif
  nonbonded<<<1, 256, 0, main_stream>>>(positions, buffer);  // FIRES: cross-stream-race
  cuStreamSynchronize(pme);
  cuStreamSynchronize(main_stream);
}
