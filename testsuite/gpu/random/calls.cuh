// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program on its way: its graphs and events, which are made anew, and the calls of its steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "testsuite/gpu/random/graphs.cuh"

namespace streamsan::lab {

/// The calls of one program; made anew for each.
struct Running {
  const Program* program = nullptr;
  std::vector<MadeGraph> graphs;
  std::vector<cudaEvent_t> events = std::vector<cudaEvent_t>(2 * kEvents);
  std::vector<HostArgument> arguments;
  std::vector<bool> succeeded;  ///< queries
  std::vector<bool> writes = std::vector<bool>(kFlags);
  void* idle = nullptr;
  void* idle_host = nullptr;
  cudaArray_t idle_array = nullptr;
  std::vector<void*> allocated, allocated_host;
  std::vector<cudaArray_t> allocated_arrays;
  std::atomic<std::size_t> returned{0};  ///< steps
  std::atomic<bool> failed{false};
  std::string trouble;
};

/// Whether the step names a stream, an event.
bool uses_stream(Op op);
bool uses_event(Op op);
/// Whether the driver may let no other thread launch while the call waits: it copies before it returns, or frees.
bool keeps_launches_out(const Step& step);

cudaArray_t new_array();

/// Makes the calls. Streams are kept from program to program, but for those that a program makes late or destroys.
class Calls {
 public:
  /// `places`: by device; outlives this.
  explicit Calls(const std::vector<Places>& places) : places_(places) {}

  /// Throws std::runtime_error if a call fails, or there is no such device; so do the others.
  void make(Running& running, std::size_t step);
  cudaEvent_t event_of(Running& running, unsigned object);
  cudaStream_t stream_of(const Step& step);
  void destroy_fresh_streams();

 private:
  void destroy(const Step& step);

  const std::vector<Places>& places_;
  std::map<std::tuple<bool, unsigned, unsigned>, cudaStream_t> streams_;  ///< blocking, device, number
};

}  // namespace streamsan::lab
