// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compile_commands.json, as CMake, Ninja, bear and others write it: `command` is one string in a shell's spelling,
// `arguments` a list of words; `file` is relative to `directory`.
//
// Headers have no entry of their own. A header that is named (pre-commit names all files that changed) is compiled like
// the source of its name, else like the source with the longest part of its path in common. Any other file without an
// entry is an error: with guessed flags it could compile into something that it is not.
#include "analyzer/tool/compile_database.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/tool/files.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "compile_commands.json";

std::optional<std::string> read_text(const std::string& path) {
  std::string text;
  return read_file(path, text) ? std::optional(std::move(text)) : std::nullopt;
}

/// Why a file that was named is none that can be compiled; empty: it is one.
std::string no_source(const std::string& file) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (!fs::exists(status)) {
    return "there is no such file";
  }
  return fs::is_directory(status) ? "it is a folder" : "";
}

bool is_header(const std::string& file) {
  const std::string extension = fs::path(file).extension().string();
  constexpr std::string_view kHeaders[] = {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc"};
  return std::ranges::find(kHeaders, extension) != std::end(kHeaders);
}

/// The database file above `from`, or empty.
std::string find_above(const std::string& from) {
  for (fs::path folder = fs::path(from).parent_path();; folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::exists(folder / kName, ignored)) {
      return (folder / kName).string();
    }
    if (folder == folder.root_path() || folder.empty()) {
      return {};
    }
  }
}

std::optional<Command> read_entry(const llvm::json::Value& value) {
  const llvm::json::Object* entry = value.getAsObject();
  const auto file = entry == nullptr ? std::nullopt : entry->getString("file");
  if (!file) {
    return std::nullopt;
  }
  Command command;
  command.file = file->str();
  command.directory = absolute_path(entry->getString("directory").value_or("").str());
  if (const llvm::json::Array* words = entry->getArray("arguments")) {
    for (const llvm::json::Value& word : *words) {
      command.arguments.push_back(word.getAsString().value_or("").str());
    }
  } else if (const auto text = entry->getString("command")) {
    command.arguments = split_words(text->str());
  }
  return command;
}

/// Whether two commands show Clang the same. Targets of one project often compile a file alike, into two objects.
bool alike(const Compilation& left, const Compilation& right) {
  const auto shown = [](const Compilation& one) {
    const Translation& said = one.translation;
    return std::tie(one.directory, said.arguments, said.compiler, said.dialect, said.language, said.cuda_path,
                    said.no_toolkit, said.error);
  };
  return shown(left) == shown(right);
}

/// A source of a database, with its commands as they stand there.
struct Listed {
  std::string file;
  std::vector<Command> commands;
};

std::vector<Listed> read_database(const std::string& path, std::string& error) {
  const std::optional<std::string> text = read_text(path);
  if (!text) {
    error = "compile database " + path + " cannot be read";
    return {};
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(*text);
  if (!json) {
    error = "compile database " + path + " is no JSON: " + llvm::toString(json.takeError());
    return {};
  }
  const llvm::json::Array* entries = json->getAsArray();
  if (entries == nullptr) {
    error = "compile database " + path + " is no list of entries";
    return {};
  }
  std::vector<Listed> sources;
  std::map<std::string, std::size_t> positions;
  for (const llvm::json::Value& value : *entries) {
    std::optional<Command> command = read_entry(value);
    if (!command) {
      error = "compile database " + path + " has an entry without a file";
      return {};
    }
    const std::string file = absolute_path(command->file, command->directory);
    const auto [position, is_new] = positions.try_emplace(file, sources.size());
    if (is_new) sources.push_back({file, {}});
    sources[position->second].commands.push_back(std::move(*command));
  }
  if (sources.empty()) {
    error = "compile database " + path + " is empty";
  }
  return sources;
}

/// Its commands translated: of a large database only those that are needed are.
Source translated(const Listed& listed) {
  Source source{listed.file, {}, {}, no_source(listed.file)};
  for (const Command& command : listed.commands) {
    Compilation compilation{command.directory, translate(command, read_text)};
    if (source.error.empty()) {
      source.error = compilation.translation.error;
    }
    std::error_code ignored;
    if (source.error.empty() && !fs::is_directory(compilation.directory, ignored)) {
      source.error = "the folder of its entry in the compile database does not exist: " + compilation.directory;
    }
    if (std::ranges::none_of(source.compilations, [&](const Compilation& one) { return alike(one, compilation); })) {
      source.compilations.push_back(std::move(compilation));
    }
  }
  return source;
}

/// How alike two paths are: the same name but for the extension, then the length of the common part.
std::pair<bool, std::size_t> likeness(const fs::path& left, const fs::path& right) {
  const std::string a = left.string();
  const std::string b = right.string();
  const auto common = std::ranges::mismatch(a, b).in1 - a.begin();
  return {left.stem() == right.stem(), static_cast<std::size_t>(common)};
}

/// The sources of a database, by name.
class Entries {
 public:
  Entries(const std::vector<Listed>& sources, const std::string& database) : sources_(sources), database_(database) {}

  /// The one that has this name, or is the file that has it.
  [[nodiscard]] const Listed* find(const std::string& file) {
    const auto own = std::ranges::find(sources_, file, &Listed::file);
    if (own != sources_.end()) {
      return &*own;
    }
    if (by_real_path_.empty()) {
      for (const Listed& source : sources_) {
        by_real_path_.try_emplace(real_path(source.file), &source);
      }
    }
    const auto linked = by_real_path_.find(real_path(file));
    return linked == by_real_path_.end() ? nullptr : linked->second;
  }

  /// One for a file without an entry.
  [[nodiscard]] Source make(const std::string& file) const {
    Source source{file, {}, {}, no_source(file)};
    if (source.error.empty() && !is_header(file)) {
      source.error = "it has no entry in " + database_;
    }
    if (!source.error.empty()) {
      return source;
    }
    const Listed& lender = *std::ranges::max_element(
        sources_, {}, [&file](const Listed& candidate) { return likeness(file, candidate.file); });
    source = translated(lender);
    source.file = file;
    source.borrowed_from = lender.file;
    source.compilations.resize(std::min<std::size_t>(source.compilations.size(), 1));
    return source;
  }

 private:
  const std::vector<Listed>& sources_;
  const std::string& database_;
  std::map<std::string, const Listed*> by_real_path_;
};

std::vector<Source> with_flags(const CommandLine& line, const std::vector<std::string>& flags) {
  std::vector<Source> sources;
  std::error_code ignored;
  const std::string here = fs::current_path(ignored).string();
  std::set<std::string> seen;
  for (const std::string& name : line.files) {
    const std::string file = absolute_path(name);
    if (!seen.insert(real_path(file)).second) {
      continue;
    }
    Source source{file, {}, {}, no_source(file)};
    source.compilations.push_back({here, translate_flags({here, source.file, flags}, read_text)});
    if (source.error.empty()) {
      source.error = source.compilations.back().translation.error;
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace

std::vector<Source> read_sources(const CommandLine& line, std::string& remark, std::string& error) {
  if (line.flags) {
    if (line.files.empty()) {
      error = "no source file is named";
    }
    return with_flags(line, *line.flags);
  }
  std::string database = line.build_dir;
  std::error_code ignored;
  if (!database.empty()) {
    if (!fs::exists(database, ignored)) {
      error = "-p: there is no " + database;
      return {};
    }
    if (fs::is_directory(database, ignored)) {
      database = (fs::path(database) / kName).string();
    }
  } else if (!line.files.empty()) {
    database = find_above(absolute_path(line.files.front()));
    if (database.empty()) {
      remark = std::string("no ") + kName + " above " + line.files.front() +
               ": compiled without flags (give -p DIR, or flags after --)";
      return with_flags(line, {});
    }
  } else {
    error = "nothing to analyse: name source files, or a build folder with -p";
    return {};
  }

  const std::vector<Listed> all = read_database(database, error);
  if (!error.empty()) {
    return {};
  }
  std::vector<Source> sources;
  if (line.files.empty()) {
    const llvm::Regex filter(line.source_filter);
    if (std::string reason; !filter.isValid(reason)) {
      error = "--source-filter: " + reason;
      return {};
    }
    for (const Listed& source : all) {
      if (filter.match(source.file)) sources.push_back(translated(source));
    }
    if (sources.empty()) {
      error = "no source in " + database + " matches the source filter " + line.source_filter;
    }
    return sources;
  }
  Entries entries(all, database);
  std::set<std::string> seen;
  for (const std::string& name : line.files) {
    const std::string file = absolute_path(name);
    const Listed* entry = entries.find(file);
    if (seen.insert(entry == nullptr ? real_path(file) : entry->file).second) {
      sources.push_back(entry == nullptr ? entries.make(file) : translated(*entry));
    }
  }
  return sources;
}

}  // namespace streamsan::analyzer
