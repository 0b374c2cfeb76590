// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lowering of one function: a walk over its CFG that writes stream IR.
//
//   host_body.cpp        blocks, branches, returns, which element means what
//   host_statements.cpp  declarations, assignments, values that change
//   host_places.cpp      which place an expression names
//   host_operands.cpp    which value an expression has; scalar expressions
//   host_calls.cpp       calls: of functions with a body, unknown ones
//   host_launches.cpp    kernels
//   host_standard.cpp    the C++ library: what only moves values, iterators, algorithms
//   host_arguments.cpp   the positions in a model, as what stands there in a call
//   host_effects.cpp     calls that a model describes by an effect on streams and memory
//   host_objects.cpp     calls that a model describes otherwise: library handles, wrappers
//   host_containers.cpp  containers and smart pointers
//   host_tensors.cpp     PyTorch
//   host_lifetimes.cpp   construction, destruction, the end of memory
//   host_touches.cpp     the host's own accesses
//   host_loops.cpp       loops in which only the host works
//   host_trim.cpp        what is taken out again
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/census.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/lowering.h"
#include "analyzer/lowering/sites.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/ArrayRef.h"

namespace clang {
class BinaryOperator;
class CFG;
class CFGBlock;
class CFGElement;
class CUDAKernelCallExpr;
class CXXConstructExpr;
class CXXDeleteExpr;
class CXXDestructorDecl;
class CXXMemberCallExpr;
class CXXNewExpr;
class FieldDecl;
class InitListExpr;
class LambdaExpr;
class ReturnStmt;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

/// What the lowering of all functions shares.
struct Unit {
  Unit(Symbols& all_symbols, Census& all_functions, const LoweringOptions& settings)
      : context(all_symbols.context()),
        symbols(all_symbols),
        census(all_functions),
        options(settings),
        sites(all_symbols.context()) {}

  clang::ASTContext& context;
  Symbols& symbols;
  Census& census;
  const LoweringOptions& options;
  Sites sites;
  KernelEffects kernels;
  std::unordered_map<std::string, const clang::FunctionDecl*> usr_owner;
  llvm::DenseMap<const clang::FunctionDecl*, std::string> usrs;

  /// Unique in the translation unit: Clang gives two lambdas of one function one USR.
  const std::string& usr(const clang::FunctionDecl& function);
};

class Integers;

class Body {
 public:
  Body(Unit& unit, const clang::FunctionDecl& definition);
  ir::Function lower();

 private:
  /// What an expression that was evaluated before left behind.
  struct Result {
    ir::Operand value;
    ir::PlaceId place = ir::kNoPlace;  ///< of an lvalue or an object
  };

  /// Any expression that calls a function.
  struct Call {
    const clang::Expr* expression = nullptr;
    const clang::FunctionDecl* callee = nullptr;
    const Symbols::Known* known = nullptr;
    const Model* model = nullptr;
    llvm::SmallVector<const clang::Expr*, 8> arguments;  ///< without the object
    const clang::Expr* object_expression = nullptr;
    ir::PlaceId object = ir::kNoPlace;
    bool exact = false;  ///< the object's class is known: no virtual dispatch
    ir::SiteId site = ir::kNoSite;
  };

  // The walk (host_body.cpp).
  void declare_parameters();
  void walk(const clang::CFG& graph);
  void walk_block(const clang::CFGBlock& block);
  void walk_element(const clang::CFGElement& element);
  void finish_block(const clang::CFGBlock& block);
  static bool leaves_for_good(const clang::CFGBlock& block);
  void evaluate(const clang::Expr& expression);
  void give_up(const std::string& reason);
  void mark_loops();

  // Statements (host_statements.cpp).
  void statement(const clang::Stmt& statement);
  void declare(const clang::VarDecl& variable);
  void bind(const clang::VarDecl& reference);
  /// The same place, whatever its indices count to later.
  ir::PlaceId frozen(ir::PlaceId place);
  /// `(slot + 1) % 3`: what comes next in a ring.
  std::optional<ir::Expr> ring_step(const clang::Expr* source);
  void initialize(ir::PlaceId target, const clang::Expr* value);
  void initialize_parts(ir::PlaceId target, const clang::InitListExpr& list);
  void assign(ir::PlaceId target, const clang::Expr* value);
  void assign_step(ir::PlaceId target, const clang::BinaryOperator& step);
  void copy_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type);
  void branch_result(const clang::Expr& branch);
  void return_value(const clang::ReturnStmt& statement);
  void make_closure(const clang::LambdaExpr& lambda);

  // Places (host_places.cpp).
  ir::PlaceId place(const clang::Expr* expression);
  ir::PlaceId variable(const clang::ValueDecl& declaration);
  ir::PlaceId member(ir::PlaceId base, const clang::ValueDecl& field);
  ir::PlaceId closure_field(ir::PlaceId closure, const clang::ValueDecl& variable, bool reference);
  ir::PlaceId field(ir::PlaceId base, const std::string& name, const std::string& owner, ir::TypeKind type);
  ir::PlaceId element(ir::PlaceId base, ir::ExprId index, clang::QualType type);
  ir::PlaceId pointee(const ir::Operand& pointer, clang::QualType type);
  ir::PlaceId subscript(const ir::Operand& pointer, ir::ExprId index, clang::QualType type);
  ir::PlaceId data(ir::PlaceId owner);
  ir::PlaceId this_place();
  ir::PlaceId temporary(ir::TypeKind type, const std::string& name = {});
  ir::PlaceId object_temporary(clang::QualType type);
  ir::PlaceId new_local(const std::string& name, ir::TypeKind type);
  ir::PlaceId global(const std::string& name, ir::TypeKind type);
  ir::PlaceId current_stream() { return global("$current_stream", ir::TypeKind::Stream); }
  ir::PlaceId target_of(const clang::Expr* pointer);
  ir::PlaceId destination(const clang::Expr& expression, clang::QualType type);
  ir::PlaceId typed(ir::PlaceId place, clang::QualType type);
  clang::QualType type_of(ir::PlaceId place) const;
  /// Of what a pointer into an array or into the block of a container points to; null: not known.
  clang::QualType element_type(const ir::Operand& pointer) const;
  ir::TypeKind kind(clang::QualType type) { return unit_.symbols.kind(type); }
  ir::TypeKind kind(ir::PlaceId place) const {
    return place == ir::kNoPlace ? ir::TypeKind::Other : function_[place].type;
  }

  // Values (host_operands.cpp).
  ir::Operand operand(const clang::Expr* expression);
  /// An address, as a pointer or as an integer that holds one.
  bool points(const clang::Expr* expression);
  ir::Operand stream(const clang::Expr* expression);
  /// A variable's value or a number; else unknown.
  ir::Operand integer(const clang::Expr* expression);
  ir::Operand memory(const clang::Expr* expression);
  ir::Operand memory_of(ir::PlaceId place);
  /// What a pointer points to, if `place` is a member of it; else `place`.
  ir::PlaceId element_around(ir::PlaceId place) const;
  ir::Operand address_of(ir::PlaceId place);
  ir::Operand moved(ir::Operand pointer, ir::ExprId offset);
  ir::Operand argument_operand(const clang::Expr* argument, bool by_reference);
  ir::ExprId expr(const clang::Expr* expression);
  ir::ExprId number(std::int64_t value);
  ir::ExprId negative(const clang::Expr* count);
  ir::ExprId unknown_number();
  ir::ExprId sum(ir::ExprId left, ir::ExprId right);
  /// The same number, of elements of this type, or of what this pointer points to.
  ir::ExprId stepped(ir::ExprId count, clang::QualType element);
  ir::ExprId steps(ir::ExprId count, clang::QualType pointer);
  /// In bytes; 0: not known.
  std::uint32_t size_of(clang::QualType type) const;
  ir::Expr scalar(const clang::Expr* expression);
  ir::ExprId index_of(ir::PlaceId integer);
  std::optional<std::int64_t> constant(const clang::Expr* expression);
  std::string source_text(const clang::Expr* expression) const;
  const Result* result(const clang::Expr* expression) const;
  static ir::Operand value(ir::PlaceId place) { return {.kind = ir::Operand::Kind::Value, .place = place}; }
  static ir::Operand address(ir::PlaceId place) { return {.kind = ir::Operand::Kind::Address, .place = place}; }
  static ir::Operand unknown() { return {.kind = ir::Operand::Kind::Unknown}; }

  // Calls (host_calls.cpp).
  void call(const clang::Expr& expression);
  void launch(const clang::CUDAKernelCallExpr& launch);
  void kernel_accesses(ir::Op& op, const clang::FunctionDecl* kernel, llvm::ArrayRef<const clang::Expr*> arguments);
  void pass_struct(ir::Op& op, const ParameterEffect& effect, const clang::Expr& argument);
  bool call_standard(const Call& call);
  bool call_algorithm(const Call& call);
  bool call_iterator(const Call& call);
  bool call_counted_iterator(const Call& call, ir::PlaceId container, ir::PlaceId each);
  void call_body(const Call& call, const std::string& usr);
  void call_unknown(const Call& call);
  void call_harmless(const Call& call);
  void call_closure(const Call& call, const clang::Expr& closure, const clang::FunctionDecl& body);
  const clang::FunctionDecl* closure_body(const clang::Expr* argument) const;
  /// `*header = made`: to a plain struct what `=` is to a number.
  void assign_trivially(const Call& call);
  bool dispatches(const Call& call) const;
  void fresh_arguments(const Call& call);
  /// Objects that are moved into code that is not seen: it has what they held.
  void hand_over_moved(const Call& call);
  /// It is given a text and plain numbers: it prints, throws or ends the program, and waits for nothing.
  bool reports_only(const Call& call) const;
  void escape_arguments(const Call& call);
  ir::Op start(ir::OpKind kind, const Call& call);
  void set_result(const Call& call, ir::Operand value, ir::PlaceId place = ir::kNoPlace);
  ir::PlaceId result_place(const Call& call);
  const clang::Expr* argument(const Call& call, int position) const;

  // Models (host_effects.cpp, host_objects.cpp, host_tensors.cpp).
  void apply(const Call& call);
  void apply_effect(const Call& call);
  void apply_allocation(const Call& call);
  void apply_free(const Call& call);
  void apply_launch(const Call& call);
  void apply_enqueue(const Call& call, ir::Work work);
  void apply_event(const Call& call);
  void make_handle(const Call& call, ir::OpKind kind);
  void set_memory_sides(const Call& call, ir::Op& op);
  ir::Operand operand_at(const Call& call, int position);
  ir::Operand stream_of(const Call& call, ir::Op* op = nullptr);
  ir::Operand typed_stream(const Call& call, ir::Op* op);
  ir::PlaceId target_at(const Call& call, int position);
  ir::PlaceId handle_stream(const Call& call, int position);
  void add_roles(const Call& call, ir::Op& op, int shift);
  void add_role(const Call& call, ir::Op& op, const Role& role, int position);
  const clang::FunctionDecl* kernel_of(const clang::Expr* pointer) const;
  const clang::InitListExpr* argument_array(const clang::Expr* array) const;

  void library_work(const Call& call);
  /// What a library does that returns results: not a synchronisation that the program asks for.
  void wait_for_results(const Call& call, const ir::Operand& stream);
  void set_device(const Call& call);
  void set_handle_stream(const Call& call);
  void hand_over_events(const Call& call);
  void make_library_handles(const Call& call);
  void wrapper(const Call& call);
  void container(const Call& call);
  void make_container(const Call& call);
  void make_shared(const Call& call);
  void grow_container(const Call& call);
  void swap_places(const Call& call, ir::PlaceId left, ir::PlaceId right);
  void reset_container(const Call& call);
  void make_current(const Call& call);
  void host_touch(const Call& call);
  void sync_object(const Call& call);

  void tensor_make(const Call& call);
  void tensor_work(const Call& call);
  void tensor_copy(const Call& call);
  void share_tensor(ir::PlaceId target, ir::PlaceId from, bool moves, ir::SiteId site);
  ordering::MemoryKind tensor_memory(const Call& call) const;
  void free_tensor(ir::PlaceId tensor, ir::SiteId site);

  // Lifetimes (host_lifetimes.cpp).
  void construct(const clang::CXXConstructExpr& construction);
  void construct_at(ir::PlaceId target, const clang::CXXConstructExpr& construction);
  void construct_pointee(const Call& call, ir::PlaceId pointer, clang::QualType type);
  void destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable = nullptr);
  void destroy_owner(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable);
  void call_deleter(const clang::CXXRecordDecl* deleter, ir::PlaceId pointer, ir::SiteId site);
  void call_destructor(const clang::CXXDestructorDecl& destructor, ir::PlaceId object, ir::SiteId site);
  void allocate_new(const clang::CXXNewExpr& allocation);
  void delete_object(const clang::CXXDeleteExpr& deletion);
  void end_of_scope(const clang::VarDecl& variable, const clang::Stmt* trigger);
  ir::Operand dying(const clang::Expr* value);
  void end_dying(const Call& call);
  void end_of_life(const ir::Operand& memory, const char* how, ir::SiteId site);
  ir::SiteId scope_end(const clang::Stmt* trigger);
  /// The same place, told as the variable's end.
  ir::SiteId end_of(const clang::VarDecl* variable, ir::SiteId scope_end);

  // The host's accesses (host_touches.cpp).
  void touch(ir::PlaceId place, ir::Mode mode, const clang::Expr& where);
  void touch_read(const clang::Expr& lvalue, const clang::Expr& where);
  ir::Access access(const ir::Operand& memory, ir::Mode mode);
  bool worth_a_touch(ir::PlaceId place) const;

  // What nobody notices (host_trim.cpp).
  void trim();
  void drop_dead_ends();
  void drop_idle_touches();
  void drop_idle_integers();
  void read_flags(Integers& read);
  void outline();
  std::vector<ir::Op> without_paths(const std::vector<std::size_t>& blocks, bool in_loop);

  // Loops in which only the host works (host_loops.cpp, host_rounds.cpp).
  struct Loop {
    std::size_t head = 0;
    std::vector<std::size_t> blocks;
    llvm::DenseMap<std::uint32_t, unsigned> writes;  ///< by place: how often it is written
  };
  /// What a variable counts from and to in the rounds of one loop, where that is known.
  struct Counted {
    ir::ExprId first = ir::kNoExpr;
    ir::ExprId last = ir::kNoExpr;  ///< if every number up to it is met
    bool grows = false;
    bool by_one = false;
  };
  /// How an op of a loop is reached.
  struct Reached {
    bool in_all_rounds = false;               ///< in every one that begins
    bool to_the_end = false;                  ///< and as many begin as the head says
    llvm::DenseSet<std::uint32_t> uncertain;  ///< places that only some rounds write
  };
  void spread_accesses();
  void flatten_loops();
  [[nodiscard]] std::vector<Loop> natural_loops() const;
  [[nodiscard]] bool only_host(const ir::Op& op) const;
  [[nodiscard]] bool only_host(const Loop& loop) const;
  [[nodiscard]] bool asks_for_rounds(const Loop& loop) const;
  [[nodiscard]] bool passes(const Loop& loop, std::size_t block) const;
  [[nodiscard]] bool leaves_early(const Loop& loop) const;
  bool in_all_rounds(const std::vector<Loop>& loops, std::size_t loop, std::size_t block);
  bool begins_in_all_rounds(const Loop& inner, const Loop& outer);
  [[nodiscard]] bool varies(ir::ExprId expr, const Loop& loop) const;
  Counted counted(ir::PlaceId variable, const Loop& loop);
  void spread(ir::Operand& memory, ir::ExprId* bytes, const Loop& loop, const Reached& reached);
  ir::ExprId instead(ir::ExprId expr, ir::PlaceId variable, ir::ExprId value);
  ir::ExprId length(ir::ExprId first, ir::ExprId last, ir::ExprId element);
  ir::ExprId add_folded(ir::Expr expr);

  ir::Op& emit(ir::Op op);
  void emit_assign(ir::PlaceId target, ir::Operand source, ir::SiteId site);
  void emit_fresh(ir::PlaceId target, ir::SiteId site);
  ir::SiteId site(const clang::Stmt& what, const std::string& text = {});
  std::size_t new_block();

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  Scan scan_;
  ir::Function function_;
  std::size_t block_ = 0;                        ///< where ops are put
  std::vector<std::size_t> first_;               ///< by CFG block: its first block here
  std::vector<std::size_t> last_;                ///< by CFG block: its last
  std::vector<const clang::Stmt*> terminators_;  ///< by block: the statement that decides what comes next
  std::vector<clang::QualType> place_types_;     ///< by place, where known
  llvm::DenseMap<const clang::Expr*, Result> results_;
  llvm::DenseMap<const clang::Stmt*, ir::SiteId> sites_;
  llvm::DenseMap<const clang::ValueDecl*, ir::PlaceId> variables_;
  llvm::DenseMap<const clang::ValueDecl*, ir::PlaceId> aliases_;         ///< references: what they are bound to
  llvm::DenseMap<const clang::VarDecl*, ir::PlaceId> iterated_;          ///< iterators: of which container
  llvm::DenseMap<std::uint32_t, ir::ExprId> iterators_begin_;            ///< by place of an iterator: its first index
  llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> captures_;  ///< of a lambda's body
  llvm::DenseMap<const clang::CXXNewExpr*, ir::PlaceId> allocated_;
  llvm::DenseMap<const clang::Expr*, ir::PlaceId> choices_;  ///< c ? a : b
  clang::FieldDecl* captured_this_ = nullptr;
  std::map<std::string, std::uint32_t> names_;
  std::uint32_t temporaries_ = 0;
  std::optional<ir::Operand> returned_;  ///< in this block
  const clang::VarDecl* returned_variable_ = nullptr;
  ir::PlaceId result_ = ir::kNoPlace;
  std::vector<ir::PlaceId> dying_;  ///< temporaries of this call that die with its statement
};

}  // namespace streamsan::analyzer::host
