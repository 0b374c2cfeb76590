// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data of a picture of a run: which stream or thread did what, in which order, and what waited for what.
//
// judge/timeline.h fills it in; report/html and report/perfetto.h draw it. Operations have the numbers that findings
// give them, so that a picture can point at what a finding is about. Not everything a run did is here: see
// RunView::operations and judge/timeline.h on what is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/finding.h"

namespace streamsan::report {

/// A host thread or a stream: one line of the picture.
struct ViewLane {
  std::string name;                  ///< "host thread 1", "stream 2", "stream \"loader\""
  std::optional<StreamKind> stream;  ///< nothing: a host thread
  std::uint64_t handle = 0;
};

/// What is called, and from where.
struct ViewSite {
  std::string what;  ///< "kernel scale(float*)", "cudaMemcpyAsync (host to device)"
  std::string api;
  std::vector<Frame> stack;
};

struct ViewBuffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string memory;      ///< as BufferReport::memory
  std::uint32_t site = 0;  ///< where it was allocated
};

/// One use of a buffer by an operation.
struct ViewTouch {
  std::uint32_t buffer = 0;
  bool reads = false;
  bool writes = false;  ///< both: not known which
};

struct ViewOp {
  std::uint64_t number = 0;    ///< as in findings; 0: it has none (the host waits, allocates)
  std::uint64_t position = 0;  ///< of its record in the trace
  std::uint32_t lane = 0;
  std::uint32_t thread = 0;  ///< lane of the host thread that asked for it
  std::uint32_t site = 0;
  OpClass kind = OpClass::Other;
  std::uint32_t event = 0;     ///< number of the event recorded or waited for; 0: none
  std::uint32_t until = 0;     ///< a call that blocked: index of the first operation after it returned; else 0
  std::uint64_t start_ns = 0;  ///< both 0: the time is not known
  std::uint64_t end_ns = 0;
  std::uint64_t bytes = 0;        ///< copied, filled, allocated
  std::uint32_t first_touch = 0;  ///< in RunView::touches
  std::uint32_t touches = 0;
};

/// "thread", or the stream's kind: stable, used in the page's data.
const char* kind_of(const ViewLane& lane);

/// Indices in RunView::ops.
struct ViewEdge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  EdgeKind kind{};
};

struct RunView {
  std::uint32_t pid = 0;
  std::string program;  ///< path of the executable
  std::string command;
  std::uint64_t operations = 0;  ///< of the run; more than `ops` has: some were left out
  bool gpu_times = false;        ///< some operations have the time when they ran on the GPU
  std::vector<ViewLane> lanes;   ///< host threads, then streams
  std::vector<ViewSite> sites;
  std::vector<ViewBuffer> buffers;
  std::vector<ViewOp> ops;  ///< in submission order
  std::vector<ViewTouch> touches;
  std::vector<ViewEdge> edges;
};

}  // namespace streamsan::report
