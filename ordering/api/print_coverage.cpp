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
      return "one operation of the stream; its accesses are not modelled";
    case Batch::Copies:
    case Batch::Copies3D:
      return "a batch of copies: one operation of the stream; the copies are unordered among themselves; their access "
             "order says when a source is read";
    case Batch::Discards:
      return "writes the ranges, as one operation of the stream";
    case Batch::Decompress:
      return "reads all sources and writes all destinations, as one operation of the stream";
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
      return "hands out StreamSan's own entry points";
    case Init:
      return "CUDA is in use from here on";
    case Launch:
    case LaunchConfig:
      return "a kernel runs in a stream; pointers among its arguments count as inferred accesses";
    case LaunchList:
      return "kernels run in the streams of a list, with barriers among these streams; not measured";
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
      return "allocates device memory";
    case AllocPitch:
      return "allocates device memory: pitch times height";
    case AllocHost:
      return "allocates pinned host memory";
    case AllocManaged:
      return "allocates managed memory";
    case AllocAsync:
      return "allocates device memory in stream order";
    case Register:
      return "pins host memory";
    case Map:
      return "maps memory at addresses";
    case Import:
      return "makes memory of another owner known; the driver says its size";
    case GlobalLookup:
      return "makes a module variable known as memory";
    case Free:
      return "frees memory; every access must be ordered before";
    case FreeHost:
      return "frees pinned host memory; every access must be ordered before";
    case FreeAsync:
      return "frees memory in stream order; every access must be ordered before";
    case Unregister:
      return "unpins host memory; every access must be ordered before";
    case PointerAttribute:
      return "with CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: synchronous copies and fills of the memory complete before they "
             "return";
    case Unmap:
      return "unmaps addresses; every access must be ordered before";
    case ArrayCreate:
      return effect.count == kAbsent ? "makes an array" : "makes a mipmapped array with all its levels";
    case ArrayPart:
      return "makes a handle for a part of an array";
    case ArrayFree:
      return "destroys an array; every access must be ordered before";
    case TextureCreate:
      return std::string("makes an object through which kernels may ") + (effect.surface ? "read and write" : "read") +
             " memory or an array";
    case StreamCreate:
      return "makes a stream";
    case StreamDestroy:
      return "destroys the handle; pending work completes; no order";
    case EventCreate:
      return "makes an event that is not recorded yet";
    case EventDestroy:
      return "destroys the handle; waits already submitted stay in force";
    case EventRecord:
      return "the event captures the work that the stream has at the call";
    case EventWait:
      return "later work of the stream starts after what the event captured";
    case ContextRecord:
      return effect.green ? "the event captures all streams of the green context"
                          : "the event captures all streams of the context and of its green contexts";
    case ContextWait:
      return effect.green ? "later work of the green context starts after what the event captured"
                          : "later work of the context and of its green contexts starts after what the event captured";
    case SyncStream:
      return "the host waits for the stream";
    case SyncEvent:
      return "the host waits for the event";
    case SyncContext:
      return "the host waits for all work of the context";
    case QueryStream:
      return "if it succeeds, the host knows that the stream's work is complete";
    case QueryEvent:
      return "if it succeeds, the host knows that the captured work is complete";
    case HostFunction:
      return "a host function runs in stream order";
    case StreamAction:
      if (effect.semaphores)
        return "signals a value: a wait of this process for the same value comes after the stream's work";
      return batch(effect);
    case StreamJoinsAll:
      if (effect.semaphores)
        return "waits for a value: if this process has signalled it, the wait comes after the signal, otherwise after "
               "everything submitted so far";
      return "may wait for work that is not seen: taken to come after everything submitted so far";
    case CaptureBegin:
      return "from here on, work of the stream goes into a graph";
    case CaptureEnd:
      return "ends the capture";
    case GraphInstantiate:
      return "makes an executable graph: StreamSan reads and checks its nodes and edges";
    case GraphLaunch:
      return "one operation of the stream, with the accesses of all nodes, after earlier launches of the same graph";
    case GraphUpdate:
      return "changes an executable graph: StreamSan reads and checks its nodes and edges again";
    case GraphNodeUpdate:
      return "changes a node of an executable graph: StreamSan checks the graph again";
    case GraphAddNode:
      return "makes a node; StreamSan reads what it does when the graph is instantiated";
    case GraphClone:
      return "the nodes of the clone get the names of the original's nodes";
    case FunctionLookup:
      return "makes the name of a kernel known";
    case Unload:
      return "ends kernel handles and module variables";
    case ContextDestroy:
      return effect.ends == ContextEnd::Counted
                 ? "drops a reference; the last one ends the streams, events and memory of the context"
                 : "ends the streams, events and memory of the context";
  }
  return {};
}

std::string clause(const Effect& effect) {
  const std::string what = meaning(effect);
  if (effect.kind == EffectKind::Later && effect.hides_order)
    return std::string(effect.why) + "; after its first call, findings are at most possible";
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
      << "libcuda exports " << kRowCount << " functions. StreamSan models " << kRowCount - passed - later
      << " of them and passes " << passed << " through (`Pass`); the tables below say why. " << later
      << " are not modelled yet (`Later`): StreamSan forwards and counts their calls, and names the called functions "
         "at the end of the run. It does the same for functions of a newer driver, which are not listed here.\n\n"
         "* An id such as R-EVT-17 names a rule of order, see [rules.md](rules.md).\n"
         "* *No order*: the call orders nothing. *No memory*: it touches no memory of the program.\n"
         "* As its default stream, a symbol that ends in `_ptds` or `_ptsz` uses the per-thread stream of the calling "
         "thread. The plain symbol uses the legacy stream.\n"
         "* *32-bit addresses*: the form of the function from before CUDA 3.2.\n\n"
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
