// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Look-up in the table, and checks by the compiler: the rows are sorted by symbol, and no symbol occurs twice. A row in
// the wrong place does not compile.
#include "ordering/api/row.h"

#include <algorithm>
#include <iterator>

namespace streamsan::api {
namespace {

constexpr bool out_of_order(const Row& a, const Row& b) { return a.symbol >= b.symbol; }

static_assert(std::adjacent_find(std::begin(kRows), std::end(kRows), out_of_order) == std::end(kRows),
              "cuda_api.def: rows must be in byte order of the symbol, each symbol once");

}  // namespace

const Row* find_row(std::string_view symbol) {
  const Row* row = std::lower_bound(std::begin(kRows), std::end(kRows), symbol,
                                    [](const Row& r, std::string_view s) { return r.symbol < s; });
  return row != std::end(kRows) && row->symbol == symbol ? row : nullptr;
}

bool is_of_graphs(std::string_view symbol) { return symbol.starts_with("cuGraph"); }

std::string_view name(EffectKind kind) {
  switch (kind) {
    case EffectKind::Pass:
      return "Pass";
    case EffectKind::Lookup:
      return "Lookup";
    case EffectKind::Share:
      return "Share";
    case EffectKind::Later:
      return "Later";
    case EffectKind::Launch:
      return "Launch";
    case EffectKind::LaunchConfig:
      return "LaunchConfig";
    case EffectKind::LaunchList:
      return "LaunchList";
    case EffectKind::Copy:
      return "Copy";
    case EffectKind::Copy2D:
      return "Copy2D";
    case EffectKind::Copy3D:
      return "Copy3D";
    case EffectKind::Fill:
      return "Fill";
    case EffectKind::Fill2D:
      return "Fill2D";
    case EffectKind::Alloc:
      return "Alloc";
    case EffectKind::AllocPitch:
      return "AllocPitch";
    case EffectKind::AllocHost:
      return "AllocHost";
    case EffectKind::AllocManaged:
      return "AllocManaged";
    case EffectKind::AllocAsync:
      return "AllocAsync";
    case EffectKind::Register:
      return "Register";
    case EffectKind::Map:
      return "Map";
    case EffectKind::Import:
      return "Import";
    case EffectKind::GlobalLookup:
      return "GlobalLookup";
    case EffectKind::Free:
      return "Free";
    case EffectKind::FreeHost:
      return "FreeHost";
    case EffectKind::FreeAsync:
      return "FreeAsync";
    case EffectKind::Unregister:
      return "Unregister";
    case EffectKind::PointerAttribute:
      return "PointerAttribute";
    case EffectKind::Unmap:
      return "Unmap";
    case EffectKind::ArrayCreate:
      return "ArrayCreate";
    case EffectKind::ArrayPart:
      return "ArrayPart";
    case EffectKind::ArrayFree:
      return "ArrayFree";
    case EffectKind::TextureCreate:
      return "TextureCreate";
    case EffectKind::StreamCreate:
      return "StreamCreate";
    case EffectKind::StreamDestroy:
      return "StreamDestroy";
    case EffectKind::EventCreate:
      return "EventCreate";
    case EffectKind::EventDestroy:
      return "EventDestroy";
    case EffectKind::EventRecord:
      return "EventRecord";
    case EffectKind::EventWait:
      return "EventWait";
    case EffectKind::ContextRecord:
      return "ContextRecord";
    case EffectKind::ContextWait:
      return "ContextWait";
    case EffectKind::SyncStream:
      return "SyncStream";
    case EffectKind::SyncEvent:
      return "SyncEvent";
    case EffectKind::SyncContext:
      return "SyncContext";
    case EffectKind::QueryStream:
      return "QueryStream";
    case EffectKind::QueryEvent:
      return "QueryEvent";
    case EffectKind::HostFunction:
      return "HostFunction";
    case EffectKind::StreamAction:
      return "StreamAction";
    case EffectKind::StreamJoinsAll:
      return "StreamJoinsAll";
    case EffectKind::CaptureBegin:
      return "CaptureBegin";
    case EffectKind::CaptureEnd:
      return "CaptureEnd";
    case EffectKind::GraphInstantiate:
      return "GraphInstantiate";
    case EffectKind::GraphLaunch:
      return "GraphLaunch";
    case EffectKind::GraphUpdate:
      return "GraphUpdate";
    case EffectKind::GraphNodeUpdate:
      return "GraphNodeUpdate";
    case EffectKind::GraphAddNode:
      return "GraphAddNode";
    case EffectKind::GraphClone:
      return "GraphClone";
    case EffectKind::FunctionLookup:
      return "FunctionLookup";
    case EffectKind::Unload:
      return "Unload";
    case EffectKind::ContextDestroy:
      return "ContextDestroy";
    case EffectKind::Init:
      return "Init";
  }
  return "?";
}

}  // namespace streamsan::api
