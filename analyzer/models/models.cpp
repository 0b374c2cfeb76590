// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models: the answers to the lowering's questions.
//
// find() is asked for every call expression of a translation unit, so the common answers, "this is cudaMemcpyAsync" and
// "nothing is known", cost one look-up of the name as it came. Only names of a library whose rule stands for functions
// without rows (families.cpp) cost more; their models are made at the first question and kept.
#include <mutex>

#include "analyzer/models/catalog.h"
#include "analyzer/models/types.h"
#include "analyzer/models/yaml.h"

namespace streamsan::analyzer {

namespace {

/// "std::vector<float, std::allocator<float>>::data" -> "std::vector::data". Operators keep their signs.
std::string without_template_arguments(std::string_view name) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (depth == 0 && (i == 0 || name[i - 1] == ':') && name.substr(i).starts_with("operator"))
      return out + std::string(name.substr(i));
    if (name[i] == '<')
      ++depth;
    else if (name[i] == '>')
      --depth;
    else if (depth == 0)
      out += name[i];
  }
  return out;
}

}  // namespace

/// Made once: the workers of a run are forks of a process that has made it (Models::make_built_in).
struct Models::BuiltIn {
  Catalog catalog;
  Types types = Types::built_in();

  static const BuiltIn& get() {
    static const BuiltIn& models = *new BuiltIn;  // never destroyed: tables of many small strings take their time
    return models;
  }

 private:
  BuiltIn() {
    add_runtime(catalog);
    add_driver(catalog);
    add_hip(catalog);
    add_libraries(catalog);
    add_frameworks(catalog);
    add_host(catalog);
  }
};

struct Models::Impl {
  const BuiltIn& built_in = BuiltIn::get();
  Catalog own;                 ///< of the user's files
  std::optional<Types> types;  ///< the built-in ones with the user's among them, where there are any
  mutable std::mutex mutex;
  mutable std::unordered_map<std::string, Model> by_rule;  ///< guarded by mutex; nodes never move

  [[nodiscard]] const Types& all_types() const { return types ? *types : built_in.types; }
  [[nodiscard]] const Model* find(std::string_view name, unsigned arguments) const {
    const Model* model = own.find(name, arguments);
    return model != nullptr ? model : built_in.catalog.find(name, arguments);
  }
};

Models::Models() : impl_(std::make_unique<Impl>()) {}
Models::~Models() = default;

void Models::make_built_in() { BuiltIn::get(); }

bool Models::read_yaml(const std::string& path, std::string& error) {
  UserModels read;
  if (!analyzer::read_yaml(path, read, error)) return false;
  for (UserModel& one : read.models) impl_->own.put_first(one.function, std::move(one.model), one.arguments);
  if (!read.types.empty() && !impl_->types) impl_->types = impl_->built_in.types;
  for (const auto& [name, facts] : read.types) impl_->types->put(name, facts);
  return true;
}

const Model* Models::find(const Callee& callee) const {
  if (const Model* model = impl_->find(callee.qualified, callee.arguments)) {
    const bool another = callee.own && model->of_c_library && callee.qualified.find("::") == std::string::npos;
    return another ? nullptr : model;
  }
  if (callee.qualified.find('<') != std::string::npos) {
    const std::string plain = without_template_arguments(callee.qualified);
    if (const Model* model = impl_->find(plain, callee.arguments)) return model;
  }
  const std::optional<Facts> facts = family(callee);
  if (!facts) return nullptr;
  const std::lock_guard lock(impl_->mutex);
  const auto [entry, fresh] = impl_->by_rule.try_emplace(callee.qualified);
  if (fresh) {
    entry->second = model_of(callee.qualified, *facts);
    derive(entry->second);
  }
  return &entry->second;
}

ir::TypeKind Models::type(std::string_view qualified_type) const {
  return impl_->all_types().find(qualified_type).kind;
}

Policy Models::policy(std::string_view qualified_class) const {
  return impl_->all_types().find(qualified_class).policy;
}

std::optional<ir::Operand::Kind> Models::stream_constant(std::string_view qualified_variable) const {
  return impl_->all_types().stream_constant(qualified_variable);
}

std::optional<Models::Owner> Models::owner(std::string_view qualified_class) const {
  return impl_->all_types().find(qualified_class).owner;
}

bool Models::harmless(const Callee& callee) const { return known_harmless(callee); }

}  // namespace streamsan::analyzer
