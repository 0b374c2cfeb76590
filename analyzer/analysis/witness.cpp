// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and places of ops and values, for hazards. witness.h explains it.
#include "analyzer/analysis/witness.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

bool in_a_place(const ir::Operand& operand) {
  return (operand.kind == ir::Operand::Kind::Value || operand.kind == ir::Operand::Kind::Address) &&
         operand.place != ir::kNoPlace;
}

}  // namespace

Where Witness::where(ir::SiteId site) const { return analyzer::where(values_.function(), site); }

Thing Witness::thing(ValueId value, const ir::Operand& written, OpIndex op) const {
  const ir::Function& function = values_.function();
  Thing result;
  const OpIndex maker = values_.maker(value);
  if (maker != kNoOp) {
    result.origin = where(maker);
    result.allocated = values_.op(maker).kind == ir::OpKind::Allocate;
  }

  const bool written_in_place = in_a_place(written);
  const ir::Place* root = written_in_place ? &root_of(written.place) : nullptr;
  const bool named = written_in_place && root->kind != ir::Place::Kind::Temporary;
  if (named && !values_.of_a_callee(op) && !root->inlined) {
    result.name = function.spell(written.place);
    result.part_of = ir::first_of(function, written.place);
    return result;
  }
  result.name = name(value);
  result.part_of = first_of(value);
  if (result.name.empty() && named) {
    result.name = function.spell(written.place);
    result.part_of = ir::first_of(function, written.place);
  }
  return result;
}

const ir::Place& Witness::root_of(ir::PlaceId place) const {
  const ir::Place* at = &values_.function()[place];
  while (at->base != ir::kNoPlace) at = &values_.function()[at->base];
  return *at;
}

std::string Witness::name(ValueId value) const {
  const Value& known = values_[value];
  switch (known.kind) {
    case Value::Kind::Object:
      return name(values_.home(known.site));
    case Value::Kind::Content:
    case Value::Kind::Merge:
    case Value::Kind::Address:
      return name(known.location);
    case Value::Kind::Shifted:
      return name(known.since);
    default:
      return {};
  }
}

ir::PlaceId Witness::first_of(ValueId value) const {
  const auto location_of = [this](ValueId id) {
    while (values_[id].kind == Value::Kind::Shifted) id = values_[id].since;
    const Value& known = values_[id];
    return known.kind == Value::Kind::Object ? values_.home(known.site) : known.location;
  };
  LocationId at = location_of(value);
  bool is_part = false;
  while (at != kNowhere) {
    const Location& known = values_[at];
    switch (known.kind) {
      case Location::Kind::Root:
        return is_part ? known.root : ir::kNoPlace;
      case Location::Kind::Field: {
        const bool pointee = values_[known.base].kind == Location::Kind::Target;
        at = pointee ? location_of(values_[known.base].pointer) : known.base;
        break;
      }
      case Location::Kind::Index:
        at = known.base;
        break;
      default:
        return ir::kNoPlace;
    }
    is_part = true;
  }
  return ir::kNoPlace;
}

std::string Witness::name(LocationId location) const {
  const Location& known = values_[location];
  const ir::Function& function = values_.function();
  switch (known.kind) {
    case Location::Kind::Root: {
      const ir::Place& place = function[known.root];
      return place.inlined || place.kind == ir::Place::Kind::Temporary ? "" : function.spell(known.root);
    }
    case Location::Kind::Field: {
      const Location& base = values_[known.base];
      const bool pointee = base.kind == Location::Kind::Target;
      const std::string object = pointee ? name(base.pointer) : name(known.base);
      const ir::PlaceId seen = values_.seen(location);
      if (object.empty() || seen == ir::kNoPlace || function[seen].kind != ir::Place::Kind::Field) return {};
      if (ir::is(function[seen], ir::Hidden::Data))
        return object;  // the block of a container is shown as the container
      return object + (pointee || object == "this" ? "->" : ".") + function[seen].name;
    }
    case Location::Kind::Index: {
      const std::string array = name(known.base);
      const Key& index = values_[known.key];
      const ir::PlaceId seen = values_.seen(location);
      if (array.empty()) return {};
      if (index.constant) {
        const bool spelled = seen != ir::kNoPlace && function[seen].kind == ir::Place::Kind::Index;
        const ir::ExprId written = spelled ? function[seen].index : ir::kNoExpr;
        const std::int64_t step = written == ir::kNoExpr || index.unit != 1 ? 1 : function[written].unit;
        const bool whole = step > 1 && *index.constant % step == 0;
        return array + "[" + std::to_string(whole ? *index.constant / step : *index.constant) + "]";
      }
      const bool counted = seen != ir::kNoPlace && ir::hidden_part(function.spell(seen)).has_value();
      if (seen == ir::kNoPlace || counted || root_of(seen).inlined) return array + "[...]";
      return function.spell(seen);
    }
    case Location::Kind::Target: {
      const std::string pointer = name(known.pointer);
      return pointer.empty() ? "" : "*" + pointer;
    }
    default:
      return {};
  }
}

Thing Witness::stream(ValueId value, const ir::Operand& written, OpIndex op) const {
  Thing result;
  if (values_.is_legacy(value)) {
    result = unnamed(UnnamedStream::Default);
  } else if (values_.is_default_stream(value)) {
    result = unnamed(UnnamedStream::PerThread);
  } else {
    result = thing(value, written, op);
  }
  result.stream_kind = values_.stream_kind(value);
  note_class(result, value);
  return result;
}

Thing Witness::event(ValueId value, const ir::Operand& written, OpIndex op) const {
  Thing result = thing(value, written, op);
  note_class(result, value);
  return result;
}

void Witness::note_class(Thing& handle, ValueId value) const {
  const ir::HandleField* field = values_.handle(value);
  if (handle.origin || field == nullptr || !field->owned || field->made.line == 0) return;
  handle.origin = Where{field->made, {}};
  handle.by_class = true;
}

Thing Witness::memory(ValueId value, const ir::Operand& written, OpIndex op) const {
  Thing result = thing(value, written, op);
  result.memory_kind = values_.memory_kind(value);
  const ir::KeptMemory* kept = values_.kept_memory(value);
  if (!result.origin && kept != nullptr && kept->made.line != 0) {
    result.origin = Where{kept->made, {}};
    result.by_class = true;
  }
  if (const auto block = ir::hidden_part(result.name); block && block->at > 0 && block->hidden == ir::Hidden::Data)
    result.name.resize(block->at - 1);
  return result;
}

Action Witness::action(OpIndex index, ValueId stream_value) const {
  const ir::Op& op = values_.op(index);
  Action result{.where = where(index), .what = {}, .mode = ir::Mode::Unknown, .work = op.work, .stream = {}};
  result.what = !result.where.site.text.empty() ? result.where.site.text
                : op.name.empty()               ? ir::name(op.kind)
                                                : op.name;
  result.allocates = op.kind == ir::OpKind::Allocate && op.memory == ordering::MemoryKind::DeviceAsync && !op.tensor;
  if (stream_value != kUnknown) result.stream = stream(stream_value, op.stream, index);
  return result;
}

Action Witness::action(const Pending& pending) const {
  Action result = action(pending.op, pending.stream);
  result.mode = pending.mode;
  return result;
}

Action Witness::host(OpIndex op, ir::Mode mode) const {
  return {.where = where(op), .what = {}, .mode = mode, .work = ir::Work::Other, .stream = {}};
}

Thing Witness::memory_of(const Pending& pending) const {
  const ir::Op& op = values_.op(pending.op);
  const ir::Operand none;
  return memory(pending.memory, pending.access < op.accesses.size() ? op.accesses[pending.access].memory : none,
                pending.op);
}

}  // namespace streamsan::analyzer
