// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summary files: the functions of one translation unit, for the analysis of another.
//
//   {"version": 2, "streamsan": "0.2.0",
//    "functions": [{"usr": "c:@F@f", "ir": "function \"f\" usr ...\n  parameter p pointer\n..."}],
//    "fields": {"Holder::stream_": {"owned": true, "kind": "nonblocking", "timing": false}}}
//
// A file is read whole or not at all: a damaged one adds nothing to the program. What the program has already stays: a
// function seen in source is worth more than one in a file. A field that both know is owned if both say so, since a
// store that does not create may be in either; attributes they disagree on are not known.
//
// The version is that of this format, the text form included: files of another version are refused, not guessed at.
#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/text.h"
#include "analyzer/ir/words.h"

namespace streamsan::analyzer::ir {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 2;

Json to_json(const HandleField& field) {
  Json json{{"owned", field.owned}};
  if (field.stream_kind) {
    json["kind"] = name(*field.stream_kind);
  }
  if (field.timing) {
    json["timing"] = *field.timing;
  }
  for (const auto& [name, value] : {std::pair("perhaps_null", field.perhaps_null),
                                    {"passed_on", field.passed_on},
                                    {"copied", field.copied},
                                    {"unset", field.unset}}) {
    if (value) {
      json[name] = true;
    }
  }
  if (field.pooled) {
    json["pooled"] = true;
  }
  return json;
}

HandleField field_from(const Json& json) {
  HandleField field;
  field.owned = json.at("owned").get<bool>();
  if (const auto kind = json.find("kind"); kind != json.end()) {
    field.stream_kind = find<ordering::StreamKind>(kind->get<std::string>());
  }
  if (const auto timing = json.find("timing"); timing != json.end()) {
    field.timing = timing->get<bool>();
  }
  field.pooled = json.value("pooled", false);
  field.perhaps_null = json.value("perhaps_null", false);
  field.passed_on = json.value("passed_on", false);
  field.copied = json.value("copied", false);
  field.unset = json.value("unset", false);
  return field;
}

/// False: `error` says why.
bool read(const Json& json, Program& program, std::string& error, const std::set<std::string>* wanted) {
  if (!json.is_object() || !json.contains("functions")) {
    error = "not a summary of streamsan-tidy";
    return false;
  }
  if (const int version = json.at("version").get<int>(); version != kVersion) {
    error =
        "version " + std::to_string(version) + " of summaries, this program reads version " + std::to_string(kVersion);
    return false;
  }
  for (const Json& function : json.at("functions")) {
    const auto usr = function.at("usr").get<std::string>();
    if (wanted != nullptr && !wanted->contains(usr)) continue;
    Program one;
    if (!parse(function.at("ir").get<std::string>(), one, error)) {
      error.insert(0, "function '" + usr + "': ");
      return false;
    }
    if (one.functions.size() != 1 || !one.functions.contains(usr)) {
      error = "function '" + usr + "': its text is of another function";
      return false;
    }
    program.functions.merge(one.functions);
  }
  if (const auto fields = json.find("fields"); fields != json.end()) {
    for (const auto& [key, field] : fields->items()) {
      program.fields.emplace(key, field_from(field));
    }
  }
  return true;
}

void merge(HandleField& known, const HandleField& other) {
  known.perhaps_null = known.perhaps_null || other.perhaps_null;
  known.passed_on = known.passed_on || other.passed_on;
  known.copied = known.copied || other.copied;
  known.pooled = (known.owned || known.pooled) && (other.owned || other.pooled) && (known.pooled || other.pooled);
  known.owned = known.owned && other.owned;
  known.unset = known.unset && other.unset;
  known.stream_kind = known.stream_kind == other.stream_kind ? known.stream_kind : std::nullopt;
  known.timing = known.timing == other.timing ? known.timing : std::nullopt;
}

}  // namespace

std::string print_summaries(const Program& program) {
  Json functions = Json::array();
  for (const auto& [usr, function] : program.functions) {
    Function simple = function;
    simplify(simple);
    functions.push_back({{"usr", usr}, {"ir", print(simple)}});
  }
  Json fields = Json::object();
  for (const auto& [key, field] : program.fields) {
    fields[key] = to_json(field);
  }
  const Json json{{"version", kVersion},
                  {"streamsan", STREAMSAN_VERSION},
                  {"functions", std::move(functions)},
                  {"fields", std::move(fields)}};
  // Names that are no UTF-8 are spelled with replacement characters: the file stays readable.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool read_summaries(std::string_view text, Program& program, std::string& error, const std::set<std::string>* wanted) {
  Program summaries;
  try {
    if (!read(Json::parse(text), summaries, error, wanted)) {
      return false;
    }
  } catch (const Json::exception& exception) {
    error = exception.what();
    return false;
  }
  program.functions.merge(summaries.functions);
  for (const auto& [key, field] : summaries.fields) {
    const auto [known, is_new] = program.fields.emplace(key, field);
    if (!is_new) {
      merge(known->second, field);
    }
  }
  return true;
}

}  // namespace streamsan::analyzer::ir
