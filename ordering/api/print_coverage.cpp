// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints docs/api-coverage.md from the table: what StreamSan understands of each driver function, and why not where it
// does not. `api_coverage_printer FILE` writes the file, without an argument it prints to standard output. A test
// compares the page in the repository with this output, so the page cannot become outdated.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ordering/api/row.h"

namespace streamsan::api {
namespace {

std::string_view form(const Effect& effect) {
  return effect.form == CallForm::Synchronous ? "synchronous form" : "asynchronous form";
}

std::string copy_sides(const Effect& effect) {
  switch (effect.direction) {
    case Direction::HostToDevice:
      return "host to device";
    case Direction::DeviceToHost:
      return "device to host";
    case Direction::DeviceToDevice:
      return "device to device";
    case Direction::ByAddress:
      return "direction found from the addresses";
    case Direction::Array:
      if (effect.dst != kAbsent) return "array to memory";
      if (effect.src != kAbsent) return "memory to array";
      return "array to array";
  }
  return {};
}

std::string batch(const Effect& effect) {
  switch (effect.batch) {
    case Batch::None:
      return "ordered as any work of the stream; its accesses are not modelled";
    case Batch::Copies:
    case Batch::Copies3D:
      return "copies, one operation of the stream, without order among themselves; sources are read as their access "
             "order says";
    case Batch::Discards:
      return "writes of the ranges, one operation of the stream";
    case Batch::Decompress:
      return "reads of all sources and writes of all destinations, one operation of the stream";
  }
  return {};
}

/// What a modelled call does, as a clause. Nothing for Pass and Later: their rows say it themselves.
std::string meaning(const Effect& effect) {
  using enum EffectKind;
  switch (effect.kind) {
    case Pass:
    case Share:
    case Later:
      return {};
    case Lookup:
      return "the entry points it hands out are StreamSan's";
    case Init:
      return "CUDA is in use from here";
    case Launch:
    case LaunchConfig:
      return "a kernel in a stream; pointers among its arguments are inferred accesses";
    case LaunchList:
      return "launches in the streams of a list, with barriers among them; not measured";
    case Copy:
      return "linear copy, " + std::string(form(effect)) + ", " + copy_sides(effect);
    case Copy2D:
      return "2D copy, " + std::string(form(effect)) + ", rows from the descriptor";
    case Copy3D:
      return "3D copy, " + std::string(form(effect)) + ", rows and slices from the descriptor";
    case Fill:
    case Fill2D:
      return std::string(effect.kind == Fill ? "linear" : "2D") + " fill, " + std::string(form(effect)) + ", " +
             std::to_string(effect.unit) + (effect.unit == 1 ? " byte" : " bytes") + " an element";
    case Alloc:
      return "device memory begins";
    case AllocPitch:
      return "device memory begins, pitch times height";
    case AllocHost:
      return "pinned host memory begins";
    case AllocManaged:
      return "managed memory begins";
    case AllocAsync:
      return "device memory begins in stream order";
    case Register:
      return "host memory is pinned";
    case Map:
      return "addresses get memory";
    case Import:
      return "memory of another owner begins; its size is asked from the driver";
    case GlobalLookup:
      return "a module variable becomes known as memory";
    case Free:
      return "memory ends; every access must be ordered before";
    case FreeHost:
      return "pinned host memory ends; every access must be ordered before";
    case FreeAsync:
      return "memory ends in stream order; every access must be ordered before";
    case Unregister:
      return "host memory is unpinned; every access must be ordered before";
    case PointerAttribute:
      return "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: synchronous copies and fills of the memory complete before they return";
    case Unmap:
      return "addresses lose their memory; every access must be ordered before";
    case ArrayCreate:
      return effect.count == kAbsent ? "an array begins" : "a mipmapped array begins, with all its levels";
    case ArrayPart:
      return "a part of an array gets a handle";
    case ArrayFree:
      return "an array ends; every access must be ordered before";
    case TextureCreate:
      return std::string("memory or an array becomes what kernels that are given the object ") +
             (effect.surface ? "read and write" : "read");
    case StreamCreate:
      return "a stream begins";
    case StreamDestroy:
      return "the handle ends; no order, pending work completes";
    case EventCreate:
      return "an event begins, never recorded";
    case EventDestroy:
      return "the handle ends; waits already enqueued stay valid";
    case EventRecord:
      return "the event captures the stream as it is at the call";
    case EventWait:
      return "later work of the stream is after what the event has captured";
    case ContextRecord:
      return effect.green ? "the event captures all streams of the green context"
                          : "the event captures all streams of the context and of its green contexts";
    case ContextWait:
      return effect.green ? "later work of the green context is after what the event has captured"
                          : "later work of the context and of its green contexts is after what the event has captured";
    case SyncStream:
      return "the host waits for the stream";
    case SyncEvent:
      return "the host waits for the event";
    case SyncContext:
      return "the host waits for all work of the context";
    case QueryStream:
      return "success tells the host that the stream's work is complete";
    case QueryEvent:
      return "success tells the host that the captured work is complete";
    case HostFunction:
      return "a host function in stream order";
    case StreamAction:
      if (effect.semaphores) return "signals: a wait of this process for the same value comes after the stream's work";
      return batch(effect);
    case StreamJoinsAll:
      if (effect.semaphores)
        return "waits for values that this process has signalled before come after that; others may be for work that "
               "is "
               "not seen, and are taken to be after everything submitted so far";
      return "may wait for work that is not seen: taken to be after everything submitted so far";
    case CaptureBegin:
      return "work of the stream goes into a graph from here";
    case CaptureEnd:
      return "the capture ends";
    case GraphInstantiate:
      return "an executable graph begins: its nodes and edges are read and checked";
    case GraphLaunch:
      return "one operation of the stream, after earlier launches of the same graph, with the accesses of its nodes";
    case GraphUpdate:
      return "an executable graph changes: its nodes and edges are read and checked again";
    case GraphNodeUpdate:
      return "a node of an executable graph changes: the graph is checked again";
    case GraphAddNode:
      return "names a node; what it does is read when the graph is instantiated";
    case GraphClone:
      return "names the nodes of the clone after those of the original";
    case FunctionLookup:
      return "names a kernel";
    case Unload:
      return "kernel handles and module variables end";
    case ContextDestroy:
      return "streams, events and memory of the context end";
  }
  return {};
}

std::string clause(const Effect& effect) {
  const std::string what = meaning(effect);
  if (effect.kind == EffectKind::Later && effect.hides_order)
    return std::string(effect.why) + "; findings after its first call are at most possible";
  if (what.empty()) return std::string(effect.why);
  return effect.why.empty() ? what : what + " (" + std::string(effect.why) + ")";
}

void print(std::ostream& out) {
  std::map<EffectKind, unsigned> by_kind;
  std::map<std::string_view, std::vector<const Row*>> by_group;
  for (const Row& row : kRows) {
    ++by_kind[row.effect.kind];
    by_group[row.group].push_back(&row);
  }
  const unsigned passed = by_kind[EffectKind::Pass];
  const unsigned later = by_kind[EffectKind::Later];

  out << "# Driver functions: what is understood\n\n"
         "Generated from `ordering/api/cuda_api.def` by `ninja api-coverage`. Do not edit.\n\n"
      << "Of the " << kRowCount << " functions that libcuda exports, " << kRowCount - passed - later
      << " are modelled, " << passed << " are passed through for the reason given, and " << later
      << " are not modelled yet: they are forwarded and counted, and those that a program called are named at the end "
         "of its run. Functions of a newer driver that are not listed here are treated like the last.\n\n"
         "Names such as R-EVT-17 are rules of order, see [rules.md](rules.md). A symbol that ends in `_ptds` or "
         "`_ptsz` "
         "means the calling thread's per-thread default stream where the plain symbol means the legacy one.\n\n"
         "| effect | functions |\n|---|---:|\n";
  for (const auto& [kind, count] : by_kind) out << "| " << name(kind) << " | " << count << " |\n";

  for (const auto& [group, rows] : by_group) {
    out << "\n## " << group << "\n\n| function | effect | what is modelled, or why it is not |\n|---|---|---|\n";
    for (const Row* row : rows) {
      out << "| `" << row->symbol << "` | " << name(row->effect.kind) << " | " << clause(row->effect) << " |\n";
    }
  }
}

}  // namespace
}  // namespace streamsan::api

int main(int argc, char** argv) {
  if (argc < 2) {
    streamsan::api::print(std::cout);
    return std::cout.flush() ? 0 : 1;
  }
  std::ofstream file(argv[1], std::ios::binary);
  streamsan::api::print(file);
  if (file.flush()) return 0;
  std::perror(argv[1]);
  return 1;
}
