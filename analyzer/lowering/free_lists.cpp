// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which containers are free lists.
//
//   void* take() {                                 void put(void* p) { free_.push_back(p); }
//     if (free_.empty()) return allocate();
//     void* p = free_.back();
//     free_.pop_back();
//     return p;
//   }
//
// A free list is known by what is done with it: one function takes an element out of it and hands it out, another puts
// in what it was given, or what the object holds whose method it is (a lease), or what a deleter is given. That a list
// fills itself where it is made is of no account, if what comes out is what went in last. Any other list hands out the
// blocks that it holds besides first. It may hold none besides if blocks are made one by one, where it is empty or
// where none is found, by a key or by a search through all of them, and nowhere else: not by its class beforehand, and
// not until there are so many. A queue that gives out the greatest block is never one. Of a list with keys, such as
// sizes, the blocks of each key are a list. A key may be kept elsewhere while the block is lent, in a map of blocks: it
// is the one that the block was taken out under.
//
// What this means is said in host_free_lists.cpp. Not recognised, which loses findings only: lists that are linked
// through their blocks, numbers of blocks in place of blocks, lists that are passed to functions.
#include "analyzer/lowering/free_lists.h"

#include "analyzer/lowering/free_list_search.h"

namespace streamsan::analyzer {
namespace free_list {

std::optional<FreeLists::Taking> FreeListSearch::taking(const OfFunction& body, const Read& read) const {
  const clang::QualType type = read.element->getType().getNonReferenceType();
  if (!is_block(symbols_, type) || !body.taken_out.contains(read.list.container)) return std::nullopt;
  FreeLists::Taking taking{
      .container = read.container, .through = read.list.through, .element = read.element, .found = read.found};
  taking.key_of_entry = key_of_entry(read.container, body);
  taking.type = type;
  for (const auto& [variable, value] : body.set)
    if (is_below(read.element, value) && is_block(symbols_, variable->getType())) {
      taking.blocks.insert(variable);
      taking.values.insert(value);
    }
  const auto leaves = [&](const clang::Expr* value) {
    return is_below(read.element, value) ||
           std::ranges::any_of(taking.blocks, [&](const clang::VarDecl* variable) { return names(value, variable); });
  };
  if (!std::ranges::any_of(body.returned, leaves) && !std::ranges::any_of(body.kept, leaves)) return std::nullopt;
  taking.returned.insert(read.element);
  taking.waits = body.waits;
  if (taking.waits) return taking;
  // What is made where the list is empty goes out the same way.
  const clang::ASTContext& context = symbols_.context();
  for (const auto& [variable, value] : body.set)
    if (context.hasSameUnqualifiedType(variable->getType(), type) &&
        std::ranges::any_of(body.returned, [&](const clang::Expr* out) { return names(out, variable); }))
      taking.blocks.insert(variable);
  for (const clang::Expr* value : body.returned)
    if (const clang::Expr* at = strip(value);
        isa<clang::CallExpr>(at) && context.hasSameUnqualifiedType(at->getType(), type))
      taking.returned.insert(at);
  return taking;
}

/// Blocks that the class of the list puts into it on its own: it may hold more than those that have come back.
bool FreeListSearch::is_filled_before(const clang::ValueDecl& container) const {
  llvm::DenseSet<const clang::FunctionDecl*> putting, taking;
  for (const auto& [function, body] : functions_)
    if (body.taken_out.contains(&container)) taking.insert(function->getCanonicalDecl());
  for (const Put& put : puts_) {
    if (put.container != &container) continue;
    if (put.block == nullptr) return true;
    putting.insert(put.function->getCanonicalDecl());
  }
  return std::ranges::any_of(functions_, [&](const auto& known) {
    // Who takes one out, too, gives back what is lent.
    const auto& [function, body] = known;
    bool puts = false, takes = body.taken_out.contains(&container);
    for (const clang::FunctionDecl* callee : body.called) {
      puts = puts || putting.contains(callee);
      takes = takes || taking.contains(callee);
    }
    return puts && !takes && is_of_class_around(*function, container);
  });
}

/// What comes out is what went in last; or may be that, as the list may hold no other.
bool FreeListSearch::gives_last(const OfFunction& body, const Read& read) const {
  const clang::ValueDecl& container = *read.list.container;
  if (is_sorted_queue(container)) return false;
  const bool last_first = read.end != ListEnd::ByKey && std::ranges::all_of(puts_, [&](const Put& put) {
                            return put.container != &container || put.block == nullptr || put.end == read.end;
                          });
  if (last_first) return true;
  const bool made_if_none =
      read.found != nullptr || read.searched || (body.asked_empty.contains(&container) && !body.either);
  return body.allocates && made_if_none && !is_filled_before(container);
}

FreeLists FreeListSearch::take() {
  FreeLists found;
  llvm::DenseMap<const clang::ValueDecl*, llvm::SmallVector<const Put*, 2>> given;
  for (Put& put : puts_) {
    read_given(put);
    if (put.block != nullptr) given[put.container].push_back(&put);
  }
  if (given.empty()) return found;
  llvm::DenseMap<const clang::ValueDecl*, llvm::SmallVector<FreeLists::Taking*, 2>> lists;
  for (auto& [function, body] : functions_) {
    read_found(body);
    for (const Read& read : body.read) {
      const auto puts = given.find(read.list.container);
      if (puts == given.end() || found.takings.contains(function) || !gives_last(body, read)) continue;
      std::optional<FreeLists::Taking> known = taking(body, read);
      if (!known) continue;
      if (const auto kinds = kinds_.find(class_of(*function)); kinds != kinds_.end())
        known->memory = kinds->second.only();
      found.takings.try_emplace(function, std::move(*known));
    }
  }
  for (auto& [function, taking] : found.takings) lists[named_container(taking.container).container].push_back(&taking);
  for (const auto& [container, takings] : lists) {
    const auto& puts = given[container];
    // By key only if all who use the list say one.
    const bool keyed = std::ranges::all_of(takings, [](const auto* taking) { return taking->found != nullptr; }) &&
                       std::ranges::all_of(puts, [](const Put* put) { return put->key != nullptr; });
    if (!keyed)
      for (FreeLists::Taking* taking : takings) taking->found = nullptr;
    for (const Put* put : puts)
      found.givings[put->call] = {.container = put->named,
                                  .block = put->block,
                                  .key = keyed ? put->key : nullptr,
                                  .own_key = put->own_key && (keyed || put->entry),
                                  .entry = put->entry};
  }
  for (const auto& [field, kinds] : of_fields_)
    if (const auto kind = kinds.only()) found.made[field] = *kind;
  return found;
}

}  // namespace free_list

FreeLists find_free_lists(Symbols& symbols) {
  free_list::FreeListSearch search(symbols);
  search.TraverseDecl(symbols.context().getTranslationUnitDecl());
  return search.take();
}

}  // namespace streamsan::analyzer
