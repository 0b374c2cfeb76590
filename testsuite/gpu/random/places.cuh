// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copies and fills of programs write and read, on one device. Each cell has an element of its own in each
// piece of memory: in the first row of the first slice, and below and behind it those of copies with rows and slices.
// All are zero at first where copies lead, and one where they come from.
#pragma once

#include <cuda_runtime.h>

#include "testsuite/gpu/random/program.h"
#include "testsuite/gpu/random/shared.h"

namespace streamsan::lab {

inline constexpr std::size_t kElements = kCells * kRows * kSlices;

/// Two arrays, as slices need one of three dimensions.
struct Arrays {
  cudaArray_t plane = nullptr;
  cudaArray_t volume = nullptr;
};

struct Places {
  Shared* shared = nullptr;
  unsigned* slots = nullptr;      ///< device memory
  unsigned* ones = nullptr;       ///< device memory
  unsigned* ones_host = nullptr;  ///< pinned
  unsigned* landing = nullptr;    ///< pinned
  unsigned* ones_pageable = nullptr;
  unsigned* landing_pageable = nullptr;
  Arrays arrays, ones_arrays;
  cudaSurfaceObject_t plane_surface = 0, volume_surface = 0;  ///< of `arrays`
  unsigned* rounds = nullptr;  ///< device memory: by the cell of a WHILE, its rounds in this launch
};

/// Makes what is on the current device; the memory of the host is there.
void make_places(Places& places);
/// Zero again, in the legacy stream of the current device.
void wipe(const Places& places);
/// Notes in Shared what has arrived on the device, and then the number.
void peek(const Places& places, unsigned number, cudaStream_t stream);

/// OwnSynchronous: of the per-thread default stream.
enum class Form { Asynchronous, Synchronous, OwnSynchronous };

void copy(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream, Form form);
void fill(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream, Form form);
cudaGraphNode_t add_copy_node(cudaGraph_t graph, const Places& places, const Work& work, std::size_t cell);
cudaGraphNode_t add_fill_node(cudaGraph_t graph, const Places& places, const Work& work, std::size_t cell);

/// Throws std::runtime_error.
void check(cudaError_t result, const char* what);

}  // namespace streamsan::lab
