// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tidy/instances.h"

#include <algorithm>
#include <tuple>
#include <utility>

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

bool is_same(const ir::Function& a, const ir::Function& b) {
  return a.blocks == b.blocks && a.places == b.places && a.exprs == b.exprs && a.parameters == b.parameters &&
         a.per_thread_default_stream == b.per_thread_default_stream && a.hidden == b.hidden &&
         a.incomplete == b.incomplete && a.site == b.site && std::ranges::equal(a.sites, b.sites, is_same_site);
}

}  // namespace

Instances::Instances(const ir::Program& program, const std::vector<std::string>& usrs) {
  for (const std::string& usr : usrs) ++declared_[declaration(program.functions.at(usr))];
}

bool Instances::has_others(const ir::Function& closed) const {
  const auto found = declared_.find(declaration(closed));
  return found != declared_.end() && found->second > 1 && found->first != Position{};
}

bool Instances::is_known(const ir::Function& closed) const {
  const auto found = shows_nothing_.find(declaration(closed));
  return found != shows_nothing_.end() &&
         std::ranges::any_of(found->second, [&](const ir::Function& other) { return is_same(closed, other); });
}

void Instances::keep(ir::Function closed) { shows_nothing_[declaration(closed)].push_back(std::move(closed)); }

}  // namespace streamsan::analyzer
