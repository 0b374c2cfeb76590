// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over one device function's body that makes its Summary.
//
//   device_statements.cpp   a round over the body, its Summary; statements and what is an access
//   device_expressions.cpp  which place an expression names, where a pointer points, what depends on memory
//   device_calls.cpp        calls: with a summary, by name, or unknown
//   device_flow.cpp         on which paths the kernel has waited for the grid in front of it
//   device_bounds.h         how far from the begin of the memory an access is, at least
#pragma once

#include <map>
#include <set>

#include "analyzer/lowering/device_function.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace clang {
class ASTContext;
class CallExpr;
class CompoundStmt;
class CXXConstructExpr;
class Expr;
class FieldDecl;
class FunctionDecl;
class LambdaExpr;
class QualType;
class Stmt;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

class Body {
 public:
  Body(Summaries& summaries, const clang::FunctionDecl& definition);

  /// One round over the whole body. True: something was learned that an earlier part of the round could have used.
  bool round();
  [[nodiscard]] Summary summary() const;

 private:
  /// The variables on the device that the function names belong to its caller, too.
  void add_device_variables(const clang::Stmt* statement);

  // Statements. `data`: reached only under a condition on memory.
  void walk(const clang::Stmt* statement, bool data);
  void walk_children(const clang::Stmt& statement, bool data);
  /// `statement`, which is reached only if `condition` holds, or does not.
  void walk_under(const clang::Expr* condition, bool holds, const clang::Stmt* statement, bool data);
  bool walk_control(const clang::Stmt& statement, bool data);
  void walk_declaration(const clang::ValueDecl& declaration, bool data);
  void walk_initializers(bool data);
  void walk_assembly(const clang::Stmt& statement, bool data);
  void walk_return(const clang::Expr* value, bool data);
  void access(const clang::Expr& expression, bool data);
  /// `place`, of type `type`, gets the value of `value`.
  void assign(const Paths& places, clang::QualType type, const clang::Expr* value);
  void assign_fields(const clang::Expr& list);
  void touch(const Paths& places, ir::Mode mode, bool data);
  void touch_place(const clang::Expr& glvalue, ir::Mode mode, bool data);
  void escape(const Paths& objects, bool data);

  // Expressions: these change nothing; of calls that were walked before they use `results_`.
  [[nodiscard]] Paths place(const clang::Expr* expression) const;
  [[nodiscard]] Paths value(const clang::Expr* expression) const;
  [[nodiscard]] Paths variable(const clang::ValueDecl& declaration, bool captured) const;
  [[nodiscard]] Paths result(const clang::Expr& call) const;
  [[nodiscard]] bool on_data(const clang::Expr* expression) const;
  [[nodiscard]] bool is_data(const Paths& places) const;
  [[nodiscard]] bool is_data_variable(const void* base) const;
  /// A variable of `places` has a value that came out of memory.
  void note_data(const Paths& places);
  void set_result(const clang::Expr& call, Paths places);

  // What decides whether there is an access, and where. Both note the variables it hangs on, and tell if it is memory.
  bool decides(const clang::Expr* condition_or_index);
  bool decides_address(const clang::Expr* expression);
  void note_deciders(const clang::Expr* expression);
  void note_decider(const void* variable);

  // Calls.
  struct Call;
  void walk_call(const clang::CallExpr& call, bool data);
  void walk_construction(const clang::CXXConstructExpr& construction, bool data);
  void walk_lambda(const clang::LambdaExpr& lambda);
  bool call_by_name(const Call& call);
  bool call_atomic_object(const Call& call);
  void note_variables(const Summary& summary);
  void call_with_summary(const Call& call, const Summary& summary);
  void call_unknown(const Call& call);
  void escape_argument(const clang::Expr& argument, clang::QualType type, bool data);
  [[nodiscard]] Paths translate(const Call& call, const Path& path) const;
  /// A pointer that is kept there lies so far behind what it was made of.
  void note_moved(const clang::FieldDecl* field, const MaybeBound& by);
  void note_moved(const Paths& places, const MaybeBound& by);
  void note_moved_by(const Call& call, const Summary& summary);
  /// Where the callee's accesses to `path` begin here.
  [[nodiscard]] MaybeBound begin_of(const Call& call, const Path& path, const Begin& begin) const;
  [[nodiscard]] MaybeBound begin_of(const Call& call, const Path& path, MaybeBound inside) const;

  // Flow. Where a statement leaves a loop or a switch, and where the cases of a switch come from.
  struct Ways {
    Flow breaks = kNowhere;
    Flow continues = kNowhere;
    Flow cases = kNowhere;
    bool has_default = false;
  };
  void pass(GridCall call);
  void pass_barrier(llvm::StringRef name);
  /// The marks at `from` up to, not including, `to`.
  void pass_marks(unsigned from, unsigned to);
  bool is_left_by(const clang::Stmt& statement);
  void walk_block(const clang::CompoundStmt& block, bool data);
  void walk_loop(const clang::Stmt& loop, bool data);
  bool walk_jump(const clang::Stmt& statement);
  void note_early(Effect& effect, ir::Mode mode) const;
  /// What an access, early as said in a callee's summary, is here.
  [[nodiscard]] static Flow flow_in(const Flow& here, const Effect& effect, std::uint8_t bit);

  Summaries& summaries_;
  const clang::FunctionDecl& function_;
  const clang::ASTContext& context_;
  Memory memory_;
  std::map<Path, Effect> effects_;
  std::set<const void*> data_variables_;         ///< locals whose value came out of memory
  std::set<const void*> deciders_;               ///< variables that accesses hang on, through other variables too
  std::vector<const void*> new_deciders_;        ///< of which the values were not looked at yet
  std::map<const clang::Expr*, Paths> results_;  ///< of calls: what they return
  llvm::DenseMap<const void*, llvm::SmallPtrSet<const clang::Expr*, 2>> given_;  ///< by variable: its values
  /// Of which this round has asked, in vain: variables, whether they are of memory; calls, what they return.
  mutable llvm::DenseSet<const void*> asked_;
  Paths returns_;                                                        ///< places or pointees, any base
  llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> captures_;  ///< of a lambda's body
  clang::FieldDecl* captured_this_ = nullptr;
  bool learned_ = false;
  bool unknown_ = false;
  Flow flow_;
  Flow exits_ = kNowhere;
  ir::Certainty triggers_first_ = ir::Certainty::No;
  bool triggers_ = false;
  bool touches_after_trigger_ = false;
  clang::SourceLocation at_;  ///< of the access that is being looked at
  Bounds bounds_;
  MaybeBound begins_;                       ///< where the access that is being looked at is, in bytes
  std::optional<MaybeBound> early_begins_;  ///< the same of what is early of it, if that is not all
  MovedFields moved_;
  llvm::DenseMap<const clang::Stmt*, bool> left_by_;  ///< is_left_by()
  unsigned ends_ = 0;                                 ///< times that some threads ended in what was walked
  std::vector<Ways*> breaks_, continues_;
  const std::vector<Mark>& marks_;
};

}  // namespace streamsan::analyzer::device
