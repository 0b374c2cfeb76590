// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SARIF 2.1.0, for both products: one run as plain data, and its text.
//
// A stream-ordering bug is about two lanes that nothing orders, and SARIF has a word for that: a code flow with one
// thread flow for each lane, a stream or the host. A viewer shows them side by side.
//
// Paths are relative to the root of the repository (SRCROOT). A page of documentation is named by its path in this
// project: there is no other address for it. What a caller leaves empty is left out of the text.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/common/words.h"

namespace streamsan::report::sarif_log {

using Json = nlohmann::ordered_json;

/// 1-based; columns count characters. Line 0: of the file as a whole; column 0: not known.
struct Region {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t end_line = 0;
  std::uint32_t end_column = 0;
};

struct Place {
  std::string file;
  Region region;
};

struct Location {
  std::optional<Place> place;
  std::string function;
  std::string message;
  std::string module;  ///< of a frame only
};

struct Step {
  Location location;
  std::optional<std::size_t> nesting;
  std::size_t order = 0;  ///< among the steps of all lanes
};

struct Lane {
  std::string id;
  std::string message;
  std::vector<Step> steps;
};

struct Stack {
  std::string message;
  std::vector<Location> frames;
};

struct Replacement {
  Region deleted;
  std::string inserted;
};

struct Change {
  std::string file;
  std::vector<Replacement> replacements;
};

struct Fix {
  std::string description;
  std::vector<Change> changes;
};

struct Rule {
  std::string id;
  std::string name;
  std::string summary;
  std::string description;
  std::string help;
  std::string help_markdown;
  SarifLevel level = SarifLevel::Warning;
  std::optional<bool> enabled;
  Json properties;
};

struct Result {
  std::string rule_id;
  std::optional<std::size_t> rule_index;
  SarifLevel level = SarifLevel::Warning;
  std::string message;
  Location location;
  std::vector<Location> related;
  std::vector<Lane> lanes;
  std::vector<Stack> stacks;
  std::vector<std::pair<std::string, std::string>> fingerprints;  ///< name of the method and value
  std::optional<std::uint64_t> occurrences;
  bool suppressed = false;
  Json properties;
  std::vector<Fix> fixes;
  std::optional<BaselineState> baseline;
};

struct Notification {
  SarifLevel level = SarifLevel::Warning;
  std::string message;
  std::optional<Place> place;
};

/// What paths are relative to.
struct Root {
  std::string path;
  std::function<std::optional<std::string>(const std::string& file)> relative;  ///< nothing: not below it
};

struct Run {
  std::string tool;
  std::string version;
  std::vector<Rule> rules;
  std::vector<Result> results;
  bool successful = true;
  std::optional<int> exit_code;
  std::vector<Notification> notifications;
  std::optional<std::vector<std::string>> artifacts;  ///< files that were looked at
};

/// The keys of an object stand in the order of the standard, or by the alphabet, as streamsan-tidy has always had them.
enum class KeyOrder : std::uint8_t { OfStandard, ByAlphabet };

/// The file as text.
std::string text(const Run& run, const Root& root, KeyOrder order);

/// A path as part of an address: "%20" for a blank.
std::string uri(std::string_view path);

}  // namespace streamsan::report::sarif_log
