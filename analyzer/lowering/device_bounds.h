// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where in the memory behind a pointer device code begins to work, by its indices and the conditions around them.
//
// A kernel for the inside of a grid (`if (i >= 1 && i < n - 1)`), one for its margin (`if (i == 0 || i == n - 1)`), one
// that works from an offset on (`p[first + i]`): none of them touches what a copy of the first elements touches, nor
// what the others do. A Bound is the least that an index can be. Thread and block indices and parameters are at least
// 0, arithmetic does not wrap, and conditions hold where they stand: in the branch, and behind a branch that leaves
// (`if (i < 1) return;`). A variable has a bound if what happens to it is understood, in the order of the text
// (device_changes.h).
//
// A bound of 0 is given only where the first thread of the first block gets to the access, by what can be seen: under a
// condition that it may fail (`row = i / width; if (row > 0)`, `if (mask[i])`) an index made of the same numbers has
// none. The functions for this are in device_first_thread.cpp, those for what functions return in device_results.cpp.
//
// A pointer that is moved, or an index that begins at a number in memory that all threads share, need not begin where
// the pointer does that the kernel was given: such a bound is `elsewhere`. A condition that is the same for all
// threads, by what the launch gives (`if (mode == 3)`), says whether there is work. The work counts as done, unless the
// kernel otherwise works in another place: then nobody knows which.
//
// Which way it errs. What is not understood (a difference of two variables, an index that each thread takes out of
// memory) has no bound: where the work begins is not known, and the analysis decides what that is worth (overlap.h). A
// bound that is too high makes a certain meeting a possible one: a race is missed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/device_changes.h"

namespace clang {
class ASTContext;
class CallExpr;
class DeclRefExpr;
class Expr;
class FieldDecl;
class FunctionDecl;
class PseudoObjectExpr;
class Stmt;
class UnaryOperator;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

/// The least value of a number, or, in bytes, of where something begins.
struct Bound {
  std::optional<std::int64_t> number;  ///< absent: `parameters` decide
  std::set<unsigned> parameters;       ///< of the function, by position
  bool few = true;                     ///< constants decide, but that `parameters` may say how long a row is
  bool single = false;                 ///< conditions hold it to one value, or to a few
  bool fixed = false;                  ///< it is `number`
  bool plain = false;                  ///< it is the one parameter, times `scale`, plus `shift`
  bool spread = false;                 ///< it is read out of memory, by each thread for itself: nothing else is known
  bool loose = false;                  ///< plain: from there on, by what threads or rounds add, which may be nothing
  bool shifted = false;                ///< of `parameters`: it is more than 0 even if all of them are 0
  bool elsewhere = false;              ///< something moves it that is not understood: it need not be the begin
  std::int64_t scale = 1, shift = 0;
  friend bool operator==(const Bound&, const Bound&) = default;
};
using MaybeBound = std::optional<Bound>;  ///< absent: nothing is known

Bound constant_bound(std::int64_t number);
Bound moved_bound();
MaybeBound plus(const MaybeBound& a, const MaybeBound& b);
MaybeBound times(const MaybeBound& a, const MaybeBound& b);
/// No thread is known to be at the begin, and something tells that it is not meant.
bool leaves_begin(const MaybeBound& bytes);

/// Conditions that all threads answer alike, and how: whether something happens at all.
using Choices = std::set<std::pair<const clang::Expr*, bool>>;

/// Where the accesses to one memory begin, all of them together.
class Begin {
 public:
  void add(const MaybeBound& bytes, const Choices& under);
  /// Absent: nothing is known, or there is no access. Of 0: an access surely begins there. One that a choice decides
  /// about counts where the others are under that choice, too: a kernel that does something does it there.
  [[nodiscard]] const MaybeBound& bound() const;
  /// The same without the accesses of which nothing is known.
  [[nodiscard]] const MaybeBound& known() const { return known_.bound; }
  friend bool operator==(const Begin&, const Begin&) = default;

 private:
  struct Sum {
    bool any = false, front = false;
    bool lost = false, far = false;  ///< nothing is known of one; one leaves out more than a margin
    MaybeBound bound;
    void add(const MaybeBound& bytes);
    void add_to_known(const Bound& bytes);
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  Sum all_, rest_;  ///< `rest_`: without those at the begin
  Sum known_;
  std::set<Choices> fronts_;  ///< of those at the begin
  Choices others_;            ///< of all others
};

/// A variable, or a component of one (`threadIdx.x`).
using NamedPart = std::pair<const clang::ValueDecl*, std::string>;
std::optional<NamedPart> component_of(const clang::PseudoObjectExpr& expression);
/// A thread's or a block's.
bool is_index(const NamedPart& variable);

/// Pointers in objects that need not be the begin of what they were made of, and by how much.
using MovedFields = std::map<const clang::FieldDecl*, Bound>;

/// The bounds in one function's body, at the present statement.
class Bounds {
 public:
  explicit Bounds(const clang::FunctionDecl& definition, const MovedFields* moved = nullptr);

  /// How much is assumed. forget() goes back to that.
  struct Mark {
    std::size_t facts = 0, guards = 0;
  };
  [[nodiscard]] Mark mark() const { return {facts_.size(), guards_.size()}; }
  void forget(Mark mark) {
    facts_.resize(mark.facts);
    guards_.resize(mark.guards);
  }
  /// `condition` holds, or does not.
  void assume(const clang::Expr* condition, bool holds);
  /// The same, but nothing is learned of variables: they change while it holds.
  void guard(const clang::Expr* condition, bool holds) { guard(condition, holds, std::nullopt); }
  /// What decides, alike for all threads, whether they get here.
  [[nodiscard]] Choices choices() const;
  /// From here on it is not known which threads are left.
  void guard_all() { guards_.push_back({.roots = {}, .variable = {}, .choice = {}, .all = true}); }

  [[nodiscard]] MaybeBound number(const clang::Expr* expression) const { return number(expression, 0); }
  /// How far behind what it was made of a pointer points, in bytes.
  [[nodiscard]] MaybeBound pointer(const clang::Expr* expression) const {
    return reached(pointer(expression, 0), {expression});
  }
  /// The same of the address of a glvalue.
  [[nodiscard]] MaybeBound place(const clang::Expr* expression) const {
    return reached(place(expression, 0), {expression});
  }
  /// `bound`, unless it is 0 and, by the conditions that hold, perhaps no thread has a 0 there: it is made of
  /// `made_of`.
  [[nodiscard]] MaybeBound reached(MaybeBound bound, const std::vector<const clang::Expr*>& made_of) const;

 private:
  using Variable = NamedPart;
  /// What an expression is made of, through the variables that it names.
  struct Roots {
    std::set<Variable> indices;  ///< what differs from thread to thread, or from round to round
    std::set<const clang::ValueDecl*> through;
  };
  /// A condition that the first thread may fail.
  struct Guard {
    Roots roots;
    std::optional<Variable> variable;           ///< whose bound says all that the condition does
    std::optional<Choices::value_type> choice;  ///< that it is, by no index
    bool all = false;                           ///< it may be about anything
  };
  struct Compared {
    Variable variable;
    MaybeBound at_least;  ///< absent: it says nothing
    bool single = false;
  };

  struct Constant {
    bool fits = false;  ///< in `number`
    std::int64_t number = 0;
  };
  /// What an expression is wherever it stands. Kept, as one is asked for again and again.
  const std::optional<Constant>& constant(const clang::Expr* expression) const;
  [[nodiscard]] bool goes_on(unsigned deep) const;
  MaybeBound number(const clang::Expr* expression, unsigned deep) const;
  MaybeBound pointer(const clang::Expr* expression, unsigned deep) const;
  MaybeBound place(const clang::Expr* expression, unsigned deep) const;
  MaybeBound stepped(const clang::UnaryOperator& unary, unsigned deep) const;
  MaybeBound call(const clang::CallExpr& call, unsigned deep) const;
  enum class Asked : std::uint8_t { Number, Pointer, Place };
  /// What a call returns, by the body of the function.
  MaybeBound result(const clang::CallExpr& call, Asked what, unsigned deep) const;
  MaybeBound returned(const clang::Stmt& body, Asked what, unsigned deep);
  MaybeBound ask(const clang::Expr* expression, Asked what, unsigned deep) const;
  /// A number in memory that is one for all threads.
  [[nodiscard]] bool is_one_in_memory(const clang::Expr* expression) const;
  /// The bound of a variable, where it is named.
  [[nodiscard]] MaybeBound named(const clang::DeclRefExpr& name, unsigned deep, bool pointer) const;
  [[nodiscard]] MaybeBound initial(const clang::ValueDecl& variable, unsigned deep, bool pointer) const;
  [[nodiscard]] MaybeBound after(const Change& change, const MaybeBound& before, const clang::ValueDecl& variable,
                                 unsigned deep) const;
  [[nodiscard]] bool is_changed(const clang::ValueDecl& variable) const;
  [[nodiscard]] MaybeBound fact(const Variable& variable) const;
  [[nodiscard]] std::optional<Variable> variable(const clang::Expr* expression) const;
  /// Condition terms, all of which hold; false: it is a disjunction, whose terms are there all the same.
  bool terms(const clang::Expr* condition, bool holds, std::vector<Compared>& out) const;
  void compare(const clang::Expr* condition, bool holds, std::vector<Compared>& out) const;
  void guard(const clang::Expr* condition, bool holds, const std::optional<Variable>& variable);
  /// A number that each thread reads out of memory for itself.
  [[nodiscard]] bool looked_up(const clang::Expr* expression, unsigned deep) const;
  /// 0 for the first thread of the first block, whatever the variables are.
  [[nodiscard]] bool is_nothing_for_first(const clang::Expr* expression) const;
  [[nodiscard]] bool first_passes(const clang::Expr* condition, bool holds) const;
  enum class Within : std::uint8_t { Expression, Variable };
  /// Those of a variable that an expression names are kept. What is found within another variable's is no whole answer.
  void collect(const clang::Stmt* statement, Roots& out, unsigned deep = 0, Within within = Within::Expression) const;
  void collect_variable(const clang::VarDecl& named, Roots& out, unsigned deep) const;
  const clang::FunctionDecl& function_;
  const clang::ASTContext& context_;
  const MovedFields* moved_;
  mutable unsigned steps_ = 0;  ///< of the question that is being answered
  mutable std::map<const clang::VarDecl*, Roots> roots_;
  mutable std::unordered_map<const clang::Expr*, std::optional<Constant>> constants_;
  Changes changes_;
  std::set<const clang::ValueDecl*> unknown_;  ///< parameters that are given what is not known
  std::vector<std::pair<Variable, Bound>> facts_;
  std::vector<Guard> guards_;
};

/// What a launch's access leaves out. The bits of Part::arguments are positions of parameters here.
ir::Part part_of(const Begin& begin);

}  // namespace streamsan::analyzer::device
