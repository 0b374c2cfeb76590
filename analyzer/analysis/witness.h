// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts ops and values into the words of hazard.h: where an op stands and through which calls, what a stream or a buffer
// is called and where it was made.
//
// If the op is in the analysed function itself, its name is the text that is written there. The text of an inlined
// callee, and a value without a name, say little. There the place is named in which the value was first put, or from
// which it was read, if the place is the function's own: the stream of a wrapper class is `front.stream_` for its user.
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
  /// A handle that this function does not make, but its class: says where.
  void note_class(Thing& handle, ValueId value) const;
  [[nodiscard]] const ir::Place& root_of(ir::PlaceId place) const;
  [[nodiscard]] std::string name(ValueId value) const;
  [[nodiscard]] std::string name(LocationId location) const;
  /// The variable that such a name begins with, if it goes on with a part of it.
  [[nodiscard]] ir::PlaceId first_of(ValueId value) const;

  const Values& values_;
};

}  // namespace streamsan::analyzer
