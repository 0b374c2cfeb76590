// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the built-in models are written down, and where they are found again.
//
// A ModelRow is one line of a .def file: a pattern of names and the Facts that Model has as fields, in a form that
// costs nothing until start. A pattern names several functions at once: "cublas[SD]gemm" is cublasSgemm and
// cublasDgemm, "at::Tensor::{zero_,fill_}" is two members. Patterns are spelled out once, when the Catalog is filled,
// so that a look-up is one look-up in a hash table.
//
// What follows from an effect's kind (which memory it makes, where its stream comes from, whether a capture refuses it)
// is not written in rows but derived here, for runtime, driver and user models alike: see derive().
#pragma once

#include <array>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/models/model.h"

namespace streamsan::analyzer {

inline constexpr int kAnyArguments = -1;

/// ActionKind::Elapsed.
constexpr api::Effect elapsed(api::Position start, api::Position end) { return {.object = end, .event = start}; }

/// Model, as constant data.
struct Facts {
  api::Effect effect{};
  ActionKind action = ActionKind::Effect;
  StreamFrom stream_from = StreamFrom::None;
  int stream_argument = -1;
  int handle_argument = -1;
  int config_argument = -1;
  int value_argument = -1;
  int count_argument = -1;
  int peer_argument = -1;
  int kind_argument = -1;
  int symbol_argument = -1;
  int offset_argument = -1;
  int non_blocking_argument = -1;
  int null_argument = -1;
  int first_kernel_argument = -1;
  bool after_policy = false;
  std::array<Role, 5> roles{};           ///< up to the first without an argument
  std::array<PointerTable, 3> tables{};  ///< likewise
  Member member = Member::None;
  std::optional<ordering::MemoryKind> memory{};
  std::optional<ordering::StreamKind> stream_kind{};
  std::optional<bool> timing{};
  bool caching = false;
  bool may_alias = false;
  bool transfers = false;
  bool pooled = false;
  bool makes_handle = false;
  bool works_on_host = false;
  const char* maker_for_host = "";
  bool uses_work_area = false;
  int work_area_argument = -1;  ///< see Model
};

struct ModelRow {
  std::string_view pattern;
  int arguments = kAnyArguments;  ///< how many this overload has
  Facts facts;
};

Model model_of(std::string name, const Facts& facts);

/// The names that a pattern stands for. "operator[]" has no choice in its brackets and stands for itself.
std::vector<std::string> expand(std::string_view pattern);

/// Fills in what follows from the effect's kind and the positions, where a row does not say otherwise.
void derive(Model& model);

class Catalog {
 public:
  /// A model by the names of `pattern`. An earlier model of the same name and number of arguments stays.
  void add(std::string_view pattern, Model model, int arguments = kAnyArguments);
  void add(std::span<const ModelRow> rows);
  /// Like add, but before all that is there: the answer for this name is this model.
  void put_first(const std::string& name, Model model, int arguments);

  [[nodiscard]] const Model* find(std::string_view name, unsigned arguments) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Overloads = std::vector<std::pair<int, const Model*>>;
  std::deque<Model> models_;  ///< never moves
  std::unordered_map<std::string, Overloads, Hash, std::equal_to<>> by_name_;
};

// One for each .def file or source of models.
void add_runtime(Catalog& catalog);
void add_driver(Catalog& catalog);
void add_hip(Catalog& catalog);
void add_libraries(Catalog& catalog);
void add_frameworks(Catalog& catalog);
void add_host(Catalog& catalog);

/// The driver's row for a name as a program writes it: of the newest version. nullptr: no such function.
const api::Row* newest_row(std::string_view base);

/// The rule for a function whose library is known and which has no row: any cublas*(handle, ...), any member of
/// at::Tensor. nullopt: no rule.
std::optional<Facts> family(const Callee& callee);

}  // namespace streamsan::analyzer
