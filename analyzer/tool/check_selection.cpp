// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The merging of defaults, configuration files and command line; see check_selection.h for the rules.
//
// Each file gets a configuration of its own, which the worker is given with --config-file. So everything is decided
// here, once, and clang-tidy in the worker merges nothing.
#include "analyzer/tool/check_selection.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "analyzer/tidy/json_text.h"
#include "analyzer/tool/files.h"
#include "clang-tidy/GlobList.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace streamsan::analyzer {
namespace {

namespace tidy = clang::tidy;

constexpr const char* kPrefix = "streamsan-";

std::vector<std::string> items_of(const std::string& globs) {
  std::vector<std::string> items;
  std::string item;
  const auto flush = [&] {
    const std::size_t first = item.find_first_not_of(" \t\r\n");
    if (first != std::string::npos) {
      items.push_back(item.substr(first, item.find_last_not_of(" \t\r\n") - first + 1));
    }
    item.clear();
  };
  for (const char c : globs) {
    if (c == ',' || c == '\n') {
      flush();
    } else {
      item += c;
    }
  }
  flush();
  return items;
}

std::string_view without_sign(std::string_view item) { return item.starts_with('-') ? item.substr(1) : item; }

bool matches_some_check(std::string_view glob) {
  const tidy::GlobList list{llvm::StringRef(glob.data(), glob.size())};
  return std::ranges::any_of(kChecks, [&](Check check) { return list.contains(full_name(check)); });
}

/// The first item that means no check, or nothing.
std::string unknown_item(const std::vector<std::string>& items) {
  for (const std::string& item : items) {
    const std::string_view glob = without_sign(item);
    if (glob != "*" && !glob.starts_with(kCompilerPrefix) && !matches_some_check(glob)) {
      return std::string(glob);
    }
  }
  return {};
}

std::string unknown_check(const std::string& where, const std::string& glob) {
  return where + ": no check is named '" + glob +
         "' (streamsan-tidy has only its own checks; --list-checks names them)";
}

/// What a list of globs says about our checks, and about the compiler's warnings.
struct Globs {
  std::vector<std::string> items;
  bool decides = false;  ///< it switches some of ours on by name

  explicit Globs(const std::string& text) {
    for (std::string& item : items_of(text)) {
      const std::string_view glob = without_sign(item);
      if (glob == "*" && item != "-*") {
        item = std::string(kPrefix) + "*";
      }
      if (item.starts_with(kPrefix)) {
        decides = true;
      }
      if (item == "-*" || without_sign(item).starts_with(kPrefix) || without_sign(item).starts_with(kCompilerPrefix)) {
        items.push_back(std::move(item));
      }
    }
  }
};

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ",") + item;
  }
  return text;
}

std::string default_checks() {
  std::string text = "-*";
  for (const Check check : kChecks) {
    if (group(check) == Group::Correctness) {
      text += "," + full_name(check);
    }
  }
  return text;
}

/// Why it is none, in one line; empty: it is one.
std::string no_regex(const std::string& where, const std::string& text) {
  std::string reason;
  return text.empty() || llvm::Regex(text).isValid(reason) ? "" : where + ": '" + text + "' is no regex: " + reason;
}

/// Stricter than clang-tidy, which ignores what it does not know.
bool is_line_filter(const std::string& text) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return false;
  }
  const auto is_line = [](const llvm::json::Value& value) { return value.getAsInteger().value_or(0) > 0; };
  const auto is_range = [&](const llvm::json::Value& value) {
    const llvm::json::Array* range = value.getAsArray();
    return range != nullptr && range->size() == 2 && is_line((*range)[0]) && is_line((*range)[1]) &&
           *(*range)[0].getAsInteger() <= *(*range)[1].getAsInteger();
  };
  const auto is_file = [&](const llvm::json::Value& value) {
    const llvm::json::Object* file = value.getAsObject();
    const llvm::json::Value* lines = file == nullptr ? nullptr : file->get("lines");
    return file != nullptr && !text_of(*file, "name").empty() && file->size() == (lines == nullptr ? 1U : 2U) &&
           (lines == nullptr ||
            (lines->getAsArray() != nullptr && std::ranges::all_of(*lines->getAsArray(), is_range)));
  };
  const llvm::json::Array* files = json->getAsArray();
  return files != nullptr && std::ranges::all_of(*files, is_file);
}

}  // namespace

std::string full_name(Check check) { return std::string(kPrefix) + id(check); }

const Check* find_check(std::string_view full) {
  const auto* found = std::ranges::find_if(kChecks, [&](Check check) { return full_name(check) == full; });
  return found == std::end(kChecks) ? nullptr : found;
}

bool globs_contain(const std::string& globs, const std::string& name) {
  return !globs.empty() && tidy::GlobList(globs).contains(name);
}

CheckSelection::CheckSelection(const CommandLine& line, std::string& error) : line_(line) {
  for (const auto& [where, globs] :
       {std::pair("--checks", line.checks), std::pair("--warnings-as-errors", line.warnings_as_errors)}) {
    if (const std::string unknown = unknown_item(items_of(globs)); !unknown.empty()) {
      error = unknown_check(where, unknown);
      return;
    }
  }
  for (const std::string& level : items_of(line.levels)) {
    if (!report::find<Level>(level)) {
      error = "--levels: unknown level '" + level + "' (there are definite, likely, latent and maybe)";
      return;
    }
  }
  for (const auto& [where, regex] : {std::pair("--header-filter", line.header_filter.value_or("")),
                                     std::pair("--exclude-header-filter", line.exclude_header_filter)}) {
    if (error = no_regex(where, regex); !error.empty()) {
      return;
    }
  }
  if (!line.line_filter.empty() && !is_line_filter(line.line_filter)) {
    error = "--line-filter: not of the form [{\"name\":\"file.cu\",\"lines\":[[1,9]]}]";
    return;
  }
  if (line.config.empty() && line.config_file.empty()) {
    return;
  }
  has_given_ = true;
  std::unique_ptr<llvm::MemoryBuffer> text = llvm::MemoryBuffer::getMemBufferCopy(line.config, "--config");
  if (!line.config_file.empty()) {
    auto file = llvm::MemoryBuffer::getFile(line.config_file);
    if (!file) {
      error = "--config-file: " + line.config_file + ": " + file.getError().message();
      return;
    }
    text = std::move(*file);
  }
  std::string complaint;
  const auto parsed = tidy::parseConfigurationWithDiags(*text, [&](const llvm::SMDiagnostic& diagnostic) {
    if (complaint.empty()) {
      complaint = diagnostic.getFilename().str() + ":" + std::to_string(diagnostic.getLineNo()) + ":" +
                  std::to_string(diagnostic.getColumnNo() + 1) + ": " + diagnostic.getMessage().str();
    }
  });
  if (!parsed) {
    error = complaint.empty() ? "the configuration cannot be read" : complaint;
    return;
  }
  given_ = *parsed;
}

Selection CheckSelection::select(const std::string& file, std::string& error) const {
  std::vector<std::pair<tidy::ClangTidyOptions, std::string>> layers;
  if (has_given_) {
    layers.emplace_back(given_, line_.config_file.empty() ? "--config" : line_.config_file);
  } else {
    tidy::FileOptionsProvider provider({}, {}, {}, llvm::vfs::getRealFileSystem());
    for (auto& [options, source] : provider.getRawOptions(absolute_path(file))) {
      if (source != tidy::ClangTidyOptionsProvider::OptionsSourceTypeDefaultBinary &&
          source != tidy::ClangTidyOptionsProvider::OptionsSourceTypeCheckCommandLineOption) {
        layers.emplace_back(std::move(options), source);
      }
    }
  }

  Selection selection;
  selection.options = tidy::ClangTidyOptions::getDefaults();
  selection.options.HeaderFilterRegex = ".*";
  unsigned order = 0;
  std::vector<std::pair<std::vector<std::string>, std::string>> globs;
  bool configured = false;
  for (const auto& [options, source] : layers) {
    for (const auto& [name, regex] : {std::pair("HeaderFilterRegex", options.HeaderFilterRegex),
                                      std::pair("ExcludeHeaderFilterRegex", options.ExcludeHeaderFilterRegex)}) {
      if (error = no_regex(source + ": " + name, regex.value_or("")); !error.empty()) {
        return selection;
      }
    }
    selection.options = selection.options.merge(options, ++order);
    Globs own(options.Checks.value_or(""));
    if (const std::string unknown = unknown_item(own.items); !unknown.empty()) {
      error = unknown_check(source, unknown);
      return selection;
    }
    configured = configured || own.decides;
    globs.emplace_back(std::move(own.items), source);
  }
  if (!configured) {
    // What a project wants of its own compiler's warnings says nothing about Clang's, of files that nvcc compiles.
    for (auto& [items, source] : globs) {
      std::erase_if(items, [&](const std::string& item) {
        return item == "-*" || (!has_given_ && without_sign(item).starts_with(kCompilerPrefix));
      });
    }
    globs.insert(globs.begin(), {items_of(default_checks()), "streamsan-tidy itself"});
  }
  globs.insert(globs.begin(), {{"-*"}, ""});
  globs.emplace_back(Globs(line_.checks).items, "--checks");

  std::string all;
  for (const auto& [items, source] : globs) {
    if (!items.empty()) {
      all += (all.empty() ? "" : ",") + joined(items);
    }
  }
  const tidy::GlobList list(all);
  for (const Check check : kChecks) {
    const std::string name = full_name(check);
    if (!list.contains(name)) {
      continue;
    }
    std::string where;
    for (const auto& [items, source] : globs) {
      for (const std::string& item : items) {
        if (!item.starts_with('-') && tidy::GlobList(item).contains(name)) {
          where = source;
        }
      }
    }
    selection.enabled.emplace_back(name, where);
  }

  tidy::ClangTidyOptions& options = selection.options;
  options.Checks = all;
  options.InheritParentConfig.reset();
  options.UseColor.reset();
  options.CustomChecks.reset();
  if (!line_.warnings_as_errors.empty()) {
    options.WarningsAsErrors =
        (options.WarningsAsErrors && !options.WarningsAsErrors->empty() ? *options.WarningsAsErrors + "," : "") +
        line_.warnings_as_errors;
  }
  if (line_.header_filter) {
    options.HeaderFilterRegex = *line_.header_filter;
  }
  if (!line_.exclude_header_filter.empty()) {
    options.ExcludeHeaderFilterRegex = line_.exclude_header_filter;
  }
  const auto set = [&options](const char* name, const std::string& value) {
    if (!value.empty()) {
      options.CheckOptions[name] = tidy::ClangTidyOptions::ClangTidyValue(value, UINT32_MAX);
    }
  };
  std::string models;
  for (const std::string& model : line_.models) {
    models += (models.empty() ? "" : ";") + absolute_path(model);
  }
  set("streamsan.Levels", line_.levels);
  set("streamsan.Models", models);
  set("streamsan.DefaultStream", line_.default_stream);
  set("streamsan.DumpIr", line_.dump_ir ? "true" : "");
  // Summaries that are made for later runs need none: those runs follow.
  if (const bool only_learns = !line_.summaries_out.empty() && !line_.cross_tu; line_.follow_main || only_learns) {
    set("streamsan.FollowMain", line_.follow_main.value_or(false) ? "true" : "false");
  }
  if (!line_.summaries_in.empty()) {
    set("streamsan.SummariesIn", absolute_path(line_.summaries_in));
  }
  if (!line_.summaries_out.empty()) {
    set("streamsan.SummariesOut", absolute_path(line_.summaries_out));
  }
  return selection;
}

}  // namespace streamsan::analyzer
