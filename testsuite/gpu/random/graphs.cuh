// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes executable graphs of a program's graphs, by capture or node by node. Both have exactly the edges that the program
// says: under capture a node is put into a stream whose last node it comes after, or into another one, which joins the
// capture by an event.
#pragma once

#include <cuda_runtime.h>
#include <vector>

#include "testsuite/gpu/random/program.h"
#include "testsuite/gpu/random/shared.h"

namespace streamsan::lab {

/// What a node needs to run: where it marks, and the memory that it copies and fills.
struct Places {
  Shared* shared = nullptr;
  unsigned* slots = nullptr;    ///< device memory, zero at first, a word for each cell
  unsigned* ones = nullptr;     ///< device memory
  unsigned* ones_host = nullptr;  ///< pinned
  unsigned* landing = nullptr;    ///< pinned, zero at first
  unsigned* ones_pageable = nullptr;
  unsigned* landing_pageable = nullptr;
};

unsigned manner_of(const Work& work);
void* destination(const Places& places, const Work& work, std::size_t cell);
const void* source(const Places& places, const Work& work, std::size_t cell);
void launch_work(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream);
/// What Op::Host calls.
void CUDART_CB host_work(void* argument);
struct HostArgument {
  Shared* shared = nullptr;
  std::size_t cell = 0;
  bool held = false;
};

/// Streams and events for captures, kept from program to program.
struct CaptureTools {
  std::vector<cudaStream_t> streams;
  std::vector<cudaEvent_t> events;
};

/// `arguments`: of host functions, by cell.
cudaGraphExec_t make_graph(const Graph& graph, std::size_t number, const Places& places, HostArgument* arguments,
                           CaptureTools& tools);

/// Throws std::runtime_error.
void check(cudaError_t result, const char* what);

}  // namespace streamsan::lab
