// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and places of ops and values, for hazards. The essay is in witness.h.
#include "analyzer/analysis/witness.h"

namespace streamsan::analyzer {
namespace {

bool in_a_place(const ir::Operand& operand) {
  return (operand.kind == ir::Operand::Kind::Value || operand.kind == ir::Operand::Kind::Address) &&
         operand.place != ir::kNoPlace;
}

}  // namespace

bool Witness::own(ir::SiteId site) const { return site == ir::kNoSite || values_.function()[site].call == ir::kNoSite; }

Where Witness::where(ir::SiteId site) const {
  Where result;
  if (site == ir::kNoSite) return result;
  result.site = values_.function()[site];
  for (ir::SiteId call = result.site.call; call != ir::kNoSite; call = values_.function()[call].call)
    result.calls.push_back(values_.function()[call]);
  return result;
}

Thing Witness::thing(ValueId value, const ir::Operand& written, OpIndex op) const {
  const ir::Function& function = values_.function();
  Thing result;
  const OpIndex maker = values_.maker(value);
  if (maker != kNoOp) result.origin = where(maker);

  const auto nameable = [&](ir::PlaceId place) {
    return place != ir::kNoPlace && function[place].kind != ir::Place::Kind::Temporary;
  };
  if (in_a_place(written) && nameable(written.place) && own(values_.op(op).site)) {
    result.name = function.spell(written.place);
    return result;
  }
  const Value& known = values_[value];
  if (known.kind == Value::Kind::Object && own(values_.op(known.site).site) &&
      nameable(values_.op(known.site).target)) {
    result.name = function.spell(values_.op(known.site).target);
  } else if (known.location != kNowhere && nameable(values_.seen(known.location))) {
    result.name = function.spell(values_.seen(known.location));
  } else if (in_a_place(written) && nameable(written.place)) {
    result.name = function.spell(written.place);
  }
  return result;
}

Thing Witness::stream(ValueId value, const ir::Operand& written, OpIndex op) const {
  Thing result;
  if (value == kLegacy) {
    result.name = "the default stream";
  } else if (value == kPerThread) {
    result.name = "the per-thread default stream";
  } else {
    result = thing(value, written, op);
  }
  result.stream_kind = values_.stream_kind(value);
  return result;
}

Thing Witness::event(ValueId value, const ir::Operand& written, OpIndex op) const { return thing(value, written, op); }

Thing Witness::memory(ValueId value, const ir::Operand& written, OpIndex op) const {
  Thing result = thing(value, written, op);
  result.memory_kind = values_.memory_kind(value);
  if (const std::size_t data = result.name.rfind(".$data"); data != std::string::npos) result.name.resize(data);
  return result;
}

Deed Witness::deed(OpIndex index, ValueId stream_value) const {
  const ir::Op& op = values_.op(index);
  Deed result{.where = where(index), .what = {}, .mode = ir::Mode::Unknown, .work = op.work, .stream = {}};
  result.what = !result.where.site.text.empty() ? result.where.site.text
                : op.name.empty()               ? ir::name(op.kind)
                                                : op.name;
  if (stream_value != kUnknown) result.stream = stream(stream_value, op.stream, index);
  return result;
}

Deed Witness::deed(const Pending& pending) const {
  Deed result = deed(pending.op, pending.stream);
  result.mode = pending.mode;
  return result;
}

Deed Witness::host(OpIndex op, ir::Mode mode) const {
  return {.where = where(op), .what = "the host", .mode = mode, .work = ir::Work::Other, .stream = {}};
}

Thing Witness::memory_of(const Pending& pending) const {
  const ir::Op& op = values_.op(pending.op);
  const ir::Operand none;
  return memory(pending.memory, pending.access < op.accesses.size() ? op.accesses[pending.access].memory : none,
                pending.op);
}

}  // namespace streamsan::analyzer
