// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes ops and values in the terms of hazard.h: the place of an op and the calls that lead to it, the name of a
// stream or a buffer and where it was made.
//
// If the op is in the analysed function itself, the name of a value is the text of the operand. The text of an inlined
// callee would not help the reader, and some values have no text. Such a value is named by the place that it was first
// stored in, or read from, if that place is the function's own: the user of a wrapper class sees its stream as
// `front.stream_`.
#pragma once

#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/order.h"
#include "analyzer/analysis/values.h"

namespace streamsan::analyzer {

class Witness {
 public:
  explicit Witness(const Values& values) : values_(values) {}

  [[nodiscard]] Where where(ir::SiteId site) const;
  [[nodiscard]] Where where(OpIndex op) const { return where(values_.op(op).site); }
  /// `written`: the operand at `op` that has this value.
  [[nodiscard]] Thing stream(ValueId value, const ir::Operand& written, OpIndex op) const;
  [[nodiscard]] Thing event(ValueId value, const ir::Operand& written, OpIndex op) const;
  [[nodiscard]] Thing memory(ValueId value, const ir::Operand& written, OpIndex op) const;
  [[nodiscard]] Action action(OpIndex op, ValueId stream) const;
  [[nodiscard]] Action action(const Pending& pending) const;
  [[nodiscard]] Action host(OpIndex op, ir::Mode mode) const;
  [[nodiscard]] Thing memory_of(const Pending& pending) const;

 private:
  [[nodiscard]] Thing thing(ValueId value, const ir::Operand& written, OpIndex op) const;
  /// For a handle that its class makes, and not this function: says where.
  void note_class(Thing& handle, ValueId value) const;
  [[nodiscard]] const ir::Place& root_of(ir::PlaceId place) const;
  [[nodiscard]] std::string name(ValueId value) const;
  [[nodiscard]] std::string name(LocationId location) const;
  /// The variable that such a name begins with, if the name is of a part of it.
  [[nodiscard]] ir::PlaceId first_of(ValueId value) const;

  const Values& values_;
};

}  // namespace streamsan::analyzer
