// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of a Function, and how its places are shown to users.
//
// Places and expressions are hash-consed: the analysis compares ids where it means "the same path". The index that
// finds equal entries is only a memory aid: code that changes the tables directly (the inliner renumbers them) need not
// know of it. An entry is compared before its id is handed out, and a table whose length has changed is indexed
// anew; the worst that can happen is an equal entry under two ids, which loses an equality and invents none.
//
// Spelling is for people: what they wrote, as far as the path tells. State that has no name in C++ keeps its `$` name;
// the wording finds words for it. The exact form, in which no two paths look alike, is that of print.cpp.
#include "analyzer/ir/ir.h"

#include <functional>
#include <utility>

#include "analyzer/ir/hidden.h"
#include "report/common/words.h"

namespace streamsan::analyzer::ir {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U));
}

std::size_t hash(const Place& place) {
  std::size_t seed = mix(static_cast<std::size_t>(place.kind), std::hash<std::string>{}(place.name));
  seed = mix(seed, place.number);
  seed = mix(seed, static_cast<std::size_t>(place.base));
  return mix(seed, static_cast<std::size_t>(place.index));
}

std::size_t hash(const Expr& expr) {
  std::size_t seed = std::hash<std::string>{}(expr.text);
  for (const PlaceId use : expr.uses) {
    seed = mix(seed, static_cast<std::size_t>(use));
  }
  return seed;
}

template <typename Entry>
std::uint32_t intern(std::vector<Entry>& table, Function::Index& index, Entry entry) {
  if (index.size != table.size()) {
    index.size = table.size();
    index.ids.clear();
    for (std::size_t i = 0; i < table.size(); ++i) {
      index.ids.emplace(hash(table[i]), static_cast<std::uint32_t>(i));
    }
  }
  const std::size_t key = hash(entry);
  const auto [first, last] = index.ids.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (table[it->second] == entry) {
      return it->second;
    }
  }
  const auto id = static_cast<std::uint32_t>(table.size());
  table.push_back(std::move(entry));
  index.ids.emplace(key, id);
  index.size = table.size();
  return id;
}

std::string spell_field(const Function& function, const Place& place) {
  if (is(place, Hidden::Data)) {
    return function.spell(place.base);  // the block of a container is shown as the container
  }
  const Place& base = function[place.base];
  if (base.kind == Place::Kind::Deref) {
    return function.spell(base.base) + "->" + place.name;
  }
  return function.spell(place.base) + (base.kind == Place::Kind::This ? "->" : ".") + place.name;
}

}  // namespace

PlaceId Function::add(Place place) { return PlaceId{intern(places, place_index, std::move(place))}; }

ExprId Function::add(Expr expr) { return ExprId{intern(exprs, expr_index, std::move(expr))}; }

SiteId Function::add(Site added) {
  sites.push_back(std::move(added));
  return SiteId{static_cast<std::uint32_t>(sites.size() - 1)};
}

std::string Function::spell(PlaceId id) const {
  if (id == kNoPlace) {
    return "(unknown)";
  }
  const Place& place = (*this)[id];
  switch (place.kind) {
    case Place::Kind::This:
      return "this";
    case Place::Kind::Local:
    case Place::Kind::Parameter:
    case Place::Kind::Global:
    case Place::Kind::Temporary:
      return place.name;
    case Place::Kind::Field:
      return spell_field(*this, place);
    case Place::Kind::Index: {
      const bool pointee = (*this)[place.base].kind == Place::Kind::Deref;
      return (pointee ? "(" + spell(place.base) + ")" : spell(place.base)) + "[" +
             (place.index == kNoExpr ? "?" : (*this)[place.index].text) + "]";
    }
    case Place::Kind::Deref:
      return "*" + spell(place.base);
  }
  return {};
}

std::string Function::spell(const Operand& operand) const {
  const std::string offset = operand.offset == kNoExpr ? "" : " + " + (*this)[operand.offset].text;
  switch (operand.kind) {
    case Operand::Kind::None:
      return "(none)";
    case Operand::Kind::Value:
      return spell(operand.place) + offset;
    case Operand::Kind::Address:
      return "&" + spell(operand.place) + offset;
    case Operand::Kind::Null:
      return "nullptr";
    case Operand::Kind::DefaultStream:
      return report::name(report::UnnamedStream::Default);
    case Operand::Kind::LegacyStream:
      return "cudaStreamLegacy";
    case Operand::Kind::PerThreadStream:
      return "cudaStreamPerThread";
    case Operand::Kind::Number:
      return operand.offset == kNoExpr ? "(unknown)" : (*this)[operand.offset].text;
    case Operand::Kind::Unknown:
      return "(unknown)";
  }
  return {};
}

const char* name(OpKind kind) {
  switch (kind) {
    case OpKind::Assign:
      return "assign";
    case OpKind::Fresh:
      return "fresh";
    case OpKind::CreateStream:
      return "create_stream";
    case OpKind::CreateEvent:
      return "create_event";
    case OpKind::DestroyHandle:
      return "destroy";
    case OpKind::Allocate:
      return "allocate";
    case OpKind::Free:
      return "free";
    case OpKind::EndOfLife:
      return "end_of_life";
    case OpKind::Enqueue:
      return "enqueue";
    case OpKind::Record:
      return "record";
    case OpKind::Wait:
      return "wait";
    case OpKind::SyncStream:
      return "sync_stream";
    case OpKind::SyncEvent:
      return "sync_event";
    case OpKind::SyncDevice:
      return "sync_device";
    case OpKind::QueryStream:
      return "query_stream";
    case OpKind::QueryEvent:
      return "query_event";
    case OpKind::Elapsed:
      return "elapsed";
    case OpKind::KeepAlive:
      return "keep_alive";
    case OpKind::CaptureBegin:
      return "capture_begin";
    case OpKind::CaptureEnd:
      return "capture_end";
    case OpKind::SwapCaptureMode:
      return "swap_capture_mode";
    case OpKind::GroupBegin:
      return "group_begin";
    case OpKind::GroupEnd:
      return "group_end";
    case OpKind::SetDevice:
      return "set_device";
    case OpKind::HostAccess:
      return "host";
    case OpKind::Post:
      return "post";
    case OpKind::Complete:
      return "complete";
    case OpKind::Call:
      return "call";
    case OpKind::Return:
      return "return";
    case OpKind::Escape:
      return "escape";
    case OpKind::MaySync:
      return "may_sync";
  }
  return "";
}

const char* name(Work work) {
  switch (work) {
    case Work::Kernel:
      return "kernel";
    case Work::Copy:
      return "copy";
    case Work::Fill:
      return "fill";
    case Work::Library:
      return "library";
    case Work::Communication:
      return "communication";
    case Work::HostFunction:
      return "host_function";
    case Work::GraphLaunch:
      return "graph_launch";
    case Work::Other:
      return "other";
  }
  return "";
}

const char* name(Mode mode) {
  switch (mode) {
    case Mode::Read:
      return "reads";
    case Mode::Write:
      return "writes";
    case Mode::ReadWrite:
      return "updates";
    case Mode::Atomic:
      return "atomics";
    case Mode::Unknown:
      return "touches";
  }
  return "";
}

}  // namespace streamsan::analyzer::ir
