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
  nonbonded<<<1, 256, 0, main_stream>>>(positions, buffer);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'nonbonded' on stream 'main_stream' may update 'buffer' while kernel 'reciprocal' on stream 'pme' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'buffer' is updated here, on stream 'pme'
// CHECK-NOTES: :[[@LINE-5]]:3: note: in the call to 'add_pme_energy' here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'pme' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'main_stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'main_stream' after stream 'pme': record an event in stream 'pme' after the update and let stream 'main_stream' wait for it with cuStreamWaitEvent before kernel 'nonbonded'
  cuStreamSynchronize(pme);
  cuStreamSynchronize(main_stream);
}
