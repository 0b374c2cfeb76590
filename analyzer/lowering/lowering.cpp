// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a translation unit to a Program.
//
// The Census chooses the functions, each of them is lowered, alone and without looking at the others; what a call
// means is found out when it is inlined. So the cost is that of the chosen functions, and a function of another
// translation unit takes part in the same way as soon as its IR is read from a file.
//
//   symbols        names and kinds of types, as the models know them
//   census         which functions
//   host_*         one function
//   class_harness  one class: what its objects go through
//   sites          where in the file
//   kernel_effects, device_*   what kernels do with their arguments
#include "analyzer/lowering/lowering.h"

#include "analyzer/lowering/census.h"
#include "analyzer/lowering/class_harness.h"
#include "analyzer/lowering/fields.h"
#include "analyzer/lowering/host_lowering.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/unset_streams.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"

namespace streamsan::analyzer {

Lowered lower(clang::ASTContext& context, const Models& models, const LoweringOptions& options) {
  LoweringOptions settled = options;
  // The macro is all that is left of it in the AST, by its name.
  if (context.Idents.get("CUDA_API_PER_THREAD_DEFAULT_STREAM").hasMacroDefinition())
    settled.per_thread_default_stream = true;
  Symbols symbols(context, models);
  Census census(symbols);
  host::Unit unit(symbols, census, settled);
  Lowered lowered;
  lowered.functions_seen = census.functions_seen();
  lowered.grid_waits = grid_waits(context, unit.sites, unit.kernels);
  if (census.chosen().empty()) return lowered;
  for (const clang::FunctionDecl* definition : census.chosen()) {
    ir::Function function = host::lower(unit, *definition);
    if (!function.incomplete.empty()) {
      const ir::Site& site = function[function.site];
      lowered.skipped.push_back({function.name, site.file, site.line, function.incomplete});
    }
    if (census.is_root(*definition)) lowered.roots.push_back(function.usr);
    if (auto initialisers = host::lower_initialisers(unit, *definition)) {
      std::string key = initialisers->usr;
      lowered.program.functions.emplace(std::move(key), std::move(*initialisers));
    }
    std::string usr = function.usr;
    lowered.program.functions.emplace(std::move(usr), std::move(function));
  }
  // They may make more of their kind.
  for (std::size_t i = 0; i < unit.versions.size(); ++i) {
    const host::Unit::Version version = unit.versions[i];
    census.bind(version.bindings);
    ir::Function function = host::lower(unit, *version.definition);
    function.usr = version.usr;
    lowered.program.functions.emplace(version.usr, std::move(function));
  }
  census.bind({});
  lowered.program.fields = handle_fields(context, models);
  for (const std::string& key : unset_streams(symbols)) lowered.program.fields[key].unset = true;
  for (auto& [key, field] : lowered.program.fields)
    if (field.made.begin != 0) field.made = unit.sites.at(clang::SourceLocation::getFromRawEncoding(field.made.begin));
  lowered.classes = class_harnesses(unit, lowered.program);
  return lowered;
}

}  // namespace streamsan::analyzer
