// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tidy/instances.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "analyzer/ir/changes.h"

namespace streamsan::analyzer {
namespace {

Position declaration(const ir::Function& function) {
  return function.site == ir::kNoSite ? Position{} : position(function[function.site]);
}

/// The function that a site is in has another name in each instance.
bool is_same_site(const ir::Site& a, const ir::Site& b) {
  const auto all = [](const ir::Site& site) {
    return std::tie(site.file, site.line, site.column, site.text, site.begin, site.end, site.statement,
                    site.statement_end, site.stream_begin, site.stream_end, site.stream_prefix, site.in_macro,
                    site.by_class, site.api, site.call);
  };
  return all(a) == all(b);
}

/// Kernels, and calls that are not followed, have another name in each instance. Findings have it, but
/// whether a function is given up does not depend on it. (A volatile read is no call: it leaves flags alone.)
bool is_same_op(const ir::Op& a, const ir::Op& b) {
  if (a.name == b.name) return a == b;
  const bool named = (a.kind == ir::OpKind::Enqueue && a.work == ir::Work::Kernel) || a.kind == ir::OpKind::MaySync ||
                     a.kind == ir::OpKind::Escape;
  if (!named || a.kind != b.kind || a.name.empty() || b.name.empty()) return false;
  if (a.name == ir::kVolatileRead || b.name == ir::kVolatileRead) return false;
  ir::Op renamed = a;
  renamed.name = b.name;
  return renamed == b;
}

bool is_same_block(const ir::Block& a, const ir::Block& b) {
  return a.successors == b.successors && a.condition == b.condition && a.loop_head == b.loop_head &&
         std::ranges::equal(a.ops, b.ops, is_same_op);
}

template <typename SameBlock>
bool is_built_alike(const ir::Function& a, const ir::Function& b, const SameBlock& same_block) {
  return std::ranges::equal(a.blocks, b.blocks, same_block) && a.places == b.places && a.exprs == b.exprs &&
         a.parameters == b.parameters && a.per_thread_default_stream == b.per_thread_default_stream &&
         a.hidden == b.hidden && a.incomplete == b.incomplete && a.site == b.site &&
         std::ranges::equal(a.sites, b.sites, {}, &ir::Site::call, &ir::Site::call);
}

bool is_same(const ir::Function& a, const ir::Function& b) {
  return is_built_alike(a, b, std::equal_to<>()) && std::ranges::equal(a.sites, b.sites, is_same_site);
}

}  // namespace

Instances::Instances(const ir::Program& program, const std::vector<std::string>& usrs) {
  for (const std::string& usr : usrs) ++declared_[declaration(program.functions.at(usr))];
}

bool Instances::is_worth_keeping(const ir::Function& closed) const {
  constexpr std::size_t kLarge = 100;  // blocks
  const auto found = declared_.find(declaration(closed));
  return closed.blocks.size() >= kLarge ||
         (found != declared_.end() && found->second > 1 && found->first != Position{});
}

const std::string* Instances::gave_up(const ir::Function& closed) const {
  static const std::string kDidNot;
  const auto found = shows_nothing_.find(declaration(closed));
  if (found != shows_nothing_.end() &&
      std::ranges::any_of(found->second, [&](const ir::Function& other) { return is_same(closed, other); }))
    return &kDidNot;
  for (const GivenUp& other : given_up_)
    if (is_built_alike(closed, other.closed, is_same_block)) return &other.why;
  return nullptr;
}

void Instances::keep(ir::Function closed, const std::string& gave_up) {
  if (!gave_up.empty())
    given_up_.push_back({std::move(closed), gave_up});
  else if (const Position declared = declaration(closed); declared != Position{})
    shows_nothing_[declared].push_back(std::move(closed));
}

}  // namespace streamsan::analyzer
