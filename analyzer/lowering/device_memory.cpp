// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths and what is stored in them. device_memory.h explains it.
#include "analyzer/lowering/device_memory.h"

#include <algorithm>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer::device {
namespace {

constexpr std::size_t kMostPathSteps = 8;
constexpr unsigned kMostPointers = 4;
constexpr std::size_t kMostValues = 32;  // of one pointer
constexpr unsigned kDeepestCopies = 6;   // copies of copies

bool starts_with(const Path& path, const Path& prefix) {
  return path.base == prefix.base && path.steps.size() >= prefix.steps.size() &&
         std::equal(prefix.steps.begin(), prefix.steps.end(), path.steps.begin());
}

}  // namespace

const char kThis = 0;

const clang::VarDecl* device_variable(const clang::ValueDecl& declaration) {
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  if (variable == nullptr || !variable->hasGlobalStorage() || variable->getType().isVolatileQualified()) return nullptr;
  if (variable->hasAttr<clang::CUDASharedAttr>()) return nullptr;
  const bool on_device = variable->hasAttr<clang::CUDADeviceAttr>() || variable->hasAttr<clang::CUDAConstantAttr>() ||
                         variable->hasAttr<clang::HIPManagedAttr>();
  const bool brought = variable->getASTContext().getSourceManager().isInSystemHeader(variable->getLocation());
  return on_device && !brought ? variable->getCanonicalDecl() : nullptr;
}

unsigned Path::depth() const {
  return static_cast<unsigned>(std::count(steps.begin(), steps.end(), static_cast<const clang::FieldDecl*>(nullptr)));
}

Paths step(const Paths& places, const clang::FieldDecl* field) {
  Paths result;
  for (Path path : places) {
    path.steps.push_back(field);
    if (path.steps.size() <= kMostPathSteps && path.depth() <= kMostPointers) result.insert(std::move(path));
  }
  return result;
}

void Memory::add(std::map<Path, Paths>& to, const Paths& places, const Paths& what) {
  for (const Path& place : places) {
    for (const Path& value : what) {
      Paths& known = to[place];
      if (known.contains(value)) continue;
      if (known.size() >= kMostValues) {
        overflowed_ = true;
      } else {
        known.insert(value);
        learn(place.base);
      }
    }
  }
}

void Memory::store(const Paths& places, const Paths& values) { add(stored_, places, values); }

void Memory::copy(const Paths& places, const Paths& sources) {
  for (const Path& place : places) {
    Paths others = sources;
    others.erase(place);
    add(copied_, {place}, others);
  }
}

Paths Memory::load(const Paths& places, bool typed) const {
  Paths result;
  for (const Path& place : places) load(place, typed, 0, result);
  return result;
}

void Memory::load(const Path& place, bool typed, unsigned deep, Paths& out) const {
  if (deep > kDeepestCopies) return;
  asked_.insert(place.base);
  if (const auto found = stored_.find(place); found != stored_.end()) {
    out.insert(found->second.begin(), found->second.end());
  }
  if (typed && is_parameter(place)) out.merge(step({place}, nullptr));
  // The object that `place` is a part of may be a copy of another one.
  for (std::size_t length = 0; length <= place.steps.size(); ++length) {
    const auto middle = place.steps.begin() + static_cast<std::ptrdiff_t>(length);
    const auto found = copied_.find(Path{place.base, {place.steps.begin(), middle}});
    if (found == copied_.end()) continue;
    for (Path source : found->second) {
      source.steps.insert(source.steps.end(), middle, place.steps.end());
      if (source.steps.size() <= kMostPathSteps) load(source, typed, deep + 1, out);
    }
  }
}

Paths Memory::inside(const Paths& places) const {
  asked_all_ = true;
  Paths objects = places;
  for (unsigned deep = 0; deep < kDeepestCopies; ++deep) {
    Paths sources;
    for (const auto& [copy, from] : copied_) {
      const bool of_one =
          std::any_of(objects.begin(), objects.end(), [&](const Path& object) { return starts_with(copy, object); });
      if (of_one) sources.insert(from.begin(), from.end());
    }
    objects.merge(sources);
  }
  Paths result;
  for (const auto& [place, values] : stored_) {
    const bool in_one =
        std::any_of(objects.begin(), objects.end(), [&](const Path& object) { return starts_with(place, object); });
    if (in_one) result.insert(values.begin(), values.end());
  }
  // The pointers of a parameter's object are known by the object alone.
  for (const Path& object : objects) {
    if (is_parameter(object)) result.insert(object);
  }
  return result;
}

bool Memory::grew() {
  asked_.clear();
  taken_for_own_.clear();
  asked_all_ = false;
  return std::exchange(grew_, false);
}

}  // namespace streamsan::analyzer::device
