// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function: the collaborators are made, the CFG is walked, the passes go over what came out.
#include "analyzer/lowering/host_lowering.h"

#include <memory>

#include "analyzer/lowering/host_algorithms.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_callables.h"
#include "analyzer/lowering/host_calls.h"
#include "analyzer/lowering/host_containers.h"
#include "analyzer/lowering/host_effects.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_free_lists.h"
#include "analyzer/lowering/host_launches.h"
#include "analyzer/lowering/host_libraries.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_maps.h"
#include "analyzer/lowering/host_messages.h"
#include "analyzer/lowering/host_models.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_optionals.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_refills.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_sequences.h"
#include "analyzer/lowering/host_source.h"
#include "analyzer/lowering/host_standard.h"
#include "analyzer/lowering/host_tasks.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_touches.h"
#include "analyzer/lowering/host_trim.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/host_walk.h"
#include "analyzer/lowering/map_keys.h"
#include "clang/AST/ASTContext.h"
#include "clang/Analysis/CFG.h"

namespace streamsan::analyzer::host {

namespace {

/// Everybody who lowers one function. The parts all differ in type: in a wrong order they do not compile.
struct Collaborators {
  Collaborators(Unit& unit, const clang::FunctionDecl& definition)
      : scan(definition),
        out(unit, definition, scan),
        numbers(unit, out.function()),
        parts{unit,      definition, scan,      out,        numbers,  places,   values,    assignments,
              touches,   ends,       lifetimes, arguments,  calls,    standard, modelled,  effects,
              launches,  libraries,  messages,  containers, tensors,  tuples,   optionals, maps,
              callbacks, pools,      sequences, algorithms, map_keys, tasks},
        places(parts),
        values(parts),
        assignments(parts),
        touches(parts),
        ends(parts),
        lifetimes(parts),
        arguments(parts),
        calls(parts),
        standard(parts),
        modelled(parts),
        effects(parts),
        launches(parts),
        libraries(parts),
        messages(parts),
        containers(parts),
        tensors(parts),
        tuples(parts),
        optionals(parts),
        maps(parts),
        callbacks(parts),
        pools(parts),
        sequences(parts),
        algorithms(parts),
        map_keys(parts),
        tasks(parts),
        walk(parts) {}

  Scan scan;
  FunctionBuilder out;
  Numbers numbers;
  Parts parts;
  Places places;
  Values values;
  Assignments assignments;
  Touches touches;
  Ends ends;
  Lifetimes lifetimes;
  Arguments arguments;
  Calls calls;
  StandardLibrary standard;
  ModelledCalls modelled;
  Effects effects;
  Launches launches;
  Libraries libraries;
  Messages messages;
  Containers containers;
  Tensors tensors;
  Tuples tuples;
  Optionals optionals;
  Maps maps;
  CallbackCalls callbacks;
  Pools pools;
  Sequences sequences;
  Algorithms algorithms;
  MapKeys map_keys;
  Tasks tasks;
  Walk walk;
};

/// What was walked, for the passes.
class WalkedSource final : public Source {
 public:
  explicit WalkedSource(Collaborators& of) : of_(of) {}

  [[nodiscard]] const clang::VarDecl* variable(ir::PlaceId place) const override {
    return llvm::dyn_cast_or_null<clang::VarDecl>(of_.places.declaration_of(place));
  }
  [[nodiscard]] ir::PlaceId place(const clang::ValueDecl& variable) const override {
    return of_.places.known(variable);
  }
  [[nodiscard]] std::optional<ir::ExprId> first_index(ir::PlaceId place) const override {
    return of_.places.first_index(place);
  }
  [[nodiscard]] bool only_counted(const clang::VarDecl& variable) const override {
    return !of_.scan.not_only_counted.contains(&variable);
  }
  ir::ExprId expr(const clang::Expr& expression) override { return of_.values.expr(&expression); }

 private:
  Collaborators& of_;
};

std::unique_ptr<clang::CFG> graph_of(const Unit& unit, const clang::FunctionDecl& definition) {
  clang::CFG::BuildOptions options;
  options.AddImplicitDtors = true;
  options.AddTemporaryDtors = true;
  options.AddLifetime = true;
  options.AddInitializers = true;
  options.AddStaticInitBranches = true;
  options.AddCXXNewAllocator = true;
  options.AddCXXDefaultInitExprInCtors = true;
  options.AddCXXDefaultInitExprInAggregates = true;
  options.setAllAlwaysAdd();
  return clang::CFG::buildCFG(&definition, definition.getBody(), &unit.context, options);
}

}  // namespace

const std::string& Unit::usr(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* key = function.getCanonicalDecl();
  const auto [entry, fresh] = usrs.try_emplace(key);
  if (!fresh) return entry->second;
  const std::string base = Symbols::usr(*key);
  std::string unique = base;
  for (int number = 2; !usr_owner.try_emplace(unique, key).second; ++number)
    unique = base + "#" + std::to_string(number);
  return usrs[key] = std::move(unique);
}

ir::Function lower(Unit& unit, const clang::FunctionDecl& definition) {
  Collaborators all(unit, definition);
  ir::Function& function = all.out.function();
  for (const clang::ParmVarDecl* parameter : definition.parameters())
    all.places.declare(*parameter, all.out.parameter(parameter->getNameAsString(), parameter->getType()));
  std::unique_ptr<clang::CFG> graph;
  if (function.incomplete = all.scan.incomplete; function.incomplete.empty()) {
    graph = graph_of(unit, definition);
    if (graph == nullptr) {
      function.incomplete = "no control flow graph can be built";
    } else if (graph->size() > unit.options.most_cfg_blocks) {
      function.incomplete = "too big: " + std::to_string(graph->size()) + " blocks";
    }
  }
  if (!function.incomplete.empty()) {
    function.blocks.resize(1);
    return std::move(function);
  }
  all.walk.walk(*graph);
  settle_refills(function);
  WalkedSource source(all);
  trim(unit, function, all.walk.terminators(), source, unit.census.is_root(definition), all.out.asked());
  mark_loops(function);
  return std::move(function);
}

std::optional<ir::Function> lower_initialisers(Unit& unit, const clang::FunctionDecl& definition) {
  const auto runs = [&](const clang::Decl* declared) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
    return variable != nullptr && variable->isStaticLocal() && variable->hasInit() &&
           unit.symbols.kind(variable->getType()) == ir::TypeKind::Pointer && !variable->hasConstantInitialization();
  };
  if (!llvm::any_of(definition.decls(), runs)) return std::nullopt;
  Collaborators all(unit, definition);
  const std::unique_ptr<clang::CFG> graph = all.scan.incomplete.empty() ? graph_of(unit, definition) : nullptr;
  if (graph == nullptr || graph->size() > unit.options.most_cfg_blocks) return std::nullopt;
  all.walk.walk(*graph, /*first=*/true);
  ir::Function& function = all.out.function();
  ir::Block only;
  for (ir::Block& block : function.blocks)
    for (ir::Op& op : block.ops) {
      const bool stores = op.kind == ir::OpKind::Assign || op.kind == ir::OpKind::Allocate ||
                          op.kind == ir::OpKind::Call || op.kind == ir::OpKind::Fresh;
      if (stores && op.target != ir::kNoPlace && function[op.target].base == ir::kNoPlace)
        only.ops.push_back(std::move(op));
    }
  only.ops.push_back({.kind = ir::OpKind::Return, .site = function.site});
  function.blocks = {std::move(only)};
  function.usr += " initialisers";
  return std::move(function);
}

}  // namespace streamsan::analyzer::host
