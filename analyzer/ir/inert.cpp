// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions need not be inlined.
//
// Most functions of a program move values between their own variables and are called from everywhere: error checks,
// timers, index arithmetic. Inlined, they would cost time and fill the closed function up to its limit. A function is
// inert if each of its ops writes, touches or ends nothing but its own variables, and if what it returns is no value
// that is tracked. A getter that returns a stream of its object is not inert, nor is one that returns a global flag, or
// that writes an integer through a pointer.
//
// An inert call gives its target a new, unknown value. That loses equalities (two calls of size() return unrelated
// values) and so may lose a finding.
//
// With its callees, a function is inert if it is so by itself and all callees are. Among functions that call each other
// this is the greatest solution: a recursion that does nothing does nothing.
#include <utility>
#include <vector>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

bool is_inert_return(const Function& function, const Variables& variables, const Operand& source) {
  switch (source.kind) {
    case Operand::Kind::None:
    case Operand::Kind::Number:
    case Operand::Kind::Unknown:
      return true;
    case Operand::Kind::Value: {
      const TypeKind type = function[source.place].type;
      // What a flag says is asked again (paths.cpp).
      if (type == TypeKind::Integer && function[source.place].kind == Place::Kind::Global) return false;
      return type == TypeKind::Integer || type == TypeKind::Other || variables.is_unknown_part(source.place);
    }
    default:
      return false;
  }
}

bool is_inert_op(const Function& function, const Variables& variables, const Op& op) {
  switch (op.kind) {
    case OpKind::Assign:
    case OpKind::Fresh:
      return variables.is_own_part(op.target);
    case OpKind::Return:
      return is_inert_return(function, variables, op.source);
    case OpKind::EndOfLife:
    case OpKind::Escape:
      return variables.is_own_bytes(op.kind, op.source);
    case OpKind::HostAccess:
      for (const Access& access : op.accesses) {
        if (!variables.is_own_bytes(op.kind, access.memory)) {
          return false;
        }
      }
      return true;
    default:
      return false;
  }
}

/// All ops but the calls, which go to `calls`. A call may write its target only, the rest is up to the callee.
bool is_inert_but_for(const Function& function, std::vector<const Op*>& calls) {
  if (!function.incomplete.empty()) {
    return false;
  }
  const Variables variables(function);
  for (const Block& block : function.blocks) {
    for (const Op& op : block.ops) {
      if (op.kind == OpKind::Call) {
        if (op.target != kNoPlace && !variables.is_own_part(op.target)) {
          return false;
        }
        calls.push_back(&op);
      } else if (!is_inert_op(function, variables, op)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

bool is_inert(const Function& function) {
  std::vector<const Op*> calls;
  return is_inert_but_for(function, calls) && calls.empty();
}

bool Inliner::is_inert(const std::string& usr) {
  if (const auto known = inert_.find(usr); known != inert_.end()) {
    return known->second;
  }
  // All functions reached from here that are not decided yet, assumed inert; then those are taken out that are not,
  // with their callers.
  std::vector<std::string> reached{usr};
  std::unordered_map<std::string, std::vector<std::string>> callers;
  std::vector<std::string> refuted;
  inert_.emplace(usr, true);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::string current = reached[i];
    const auto function = program_.functions.find(current);
    std::vector<const Op*> calls;
    if (function == program_.functions.end() || !is_inert_but_for(function->second, calls)) {
      refuted.push_back(current);
      continue;
    }
    for (const Op* call : calls) {
      callers[call->callee].push_back(current);
      if (const auto [known, is_new] = inert_.emplace(call->callee, true); is_new) {
        reached.push_back(call->callee);
      } else if (!known->second) {
        refuted.push_back(current);
      }
    }
  }
  while (!refuted.empty()) {
    const std::string current = std::move(refuted.back());
    refuted.pop_back();
    if (std::exchange(inert_[current], false)) {
      const auto& above = callers[current];
      refuted.insert(refuted.end(), above.begin(), above.end());
    }
  }
  return inert_.at(usr);
}

}  // namespace streamsan::analyzer::ir
