// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that are stored to again, in the same block, before anything could read them.
//
//   if (type == Q4 && n == 8) return Config(256, 2, 64);      hundreds of these: a table that is written as code
//   if (type == Q4 && n == 16) return Config(128, 1, 64);
//
// Branches without an effect are no blocks of their own, so the constructor's stores to the one result follow each
// other. They would be copied and analysed for every function that asks the table. Only the last ones are kept, and
// then nothing reads the parameters of the others (simplify.cpp).
//
// Followed are numbers in the function's own variables and their fields. A block is walked through from its end. An op
// that names a variable in any other way than to overwrite a part of it may read all of it, and one that reads through
// a pointer, or may run unknown code, may read every variable.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

class Overwritten {
 public:
  explicit Overwritten(const Function& function)
      : function_(function), variables_(function), stored_(function.places.size()), read_(function.places.size()) {}

  void drop(Block& block) {
    all_read_ = ++now_;
    std::vector<bool> dropped(block.ops.size());
    for (std::size_t i = block.ops.size(); i-- > 0;) dropped[i] = is_overwritten(block.ops[i]);
    std::size_t next = 0;
    std::erase_if(block.ops, [&](const Op&) { return dropped[next++]; });
  }

 private:
  /// Notes what it stores, and reads, if not.
  bool is_overwritten(const Op& op) {
    ++now_;
    const bool stores = (op.kind == OpKind::Assign || op.kind == OpKind::Fresh) && is_followed(op.target);
    if (stores) {
      std::uint32_t& later = stored_[at(op.target)];
      if (later > std::max(all_read_, read_[at(root(function_, op.target).place)])) return true;
      later = now_;
    } else if (op.target != kNoPlace) {
      read(op.target);
    }
    ++now_;  // it reads before it stores
    if (op.kind == OpKind::Call || op.kind == OpKind::Escape || op.kind == OpKind::MaySync) all_read_ = now_;
    for_each_operand(op, [&](const Operand& operand) {
      read(operand.place);
      read(operand.offset);
    });
    for (const Access& access : op.accesses) read(access.bytes);
    return false;
  }

  [[nodiscard]] bool is_followed(PlaceId path) const {
    const TypeKind type = function_[path].type;
    if ((type != TypeKind::Integer && type != TypeKind::Other) || !variables_.is_own_part(path)) return false;
    for (; path != kNoPlace; path = function_[path].base)
      if (function_[path].kind == Place::Kind::Index) return false;
    return true;
  }

  void read(PlaceId path) {
    if (path == kNoPlace) return;
    const Root from = root(function_, path);
    read_[at(from.place)] = now_;
    if (from.through_pointer) all_read_ = now_;
    for (; path != kNoPlace; path = function_[path].base) read(function_[path].index);
  }
  void read(ExprId expr) {
    if (expr == kNoExpr) return;
    for (const PlaceId use : function_[expr].uses) read(use);
  }

  const Function& function_;
  Variables variables_;
  std::uint32_t now_ = 0, all_read_ = 0;
  std::vector<std::uint32_t> stored_, read_;  ///< when last, by place and by variable
};

}  // namespace

void drop_overwritten(Function& function) {
  Overwritten overwritten(function);
  for (Block& block : function.blocks) overwritten.drop(block);
}

}  // namespace streamsan::analyzer::ir
