// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tool/included_text.h"

#include <filesystem>
#include <set>

#include "analyzer/tool/files.h"

namespace streamsan::analyzer {

namespace fs = std::filesystem;

std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = text.find("include"); i != text.npos; i = text.find("include", i + 1)) {
    const std::size_t before = i == 0 ? text.npos : text.find_last_not_of(" \t", i - 1);
    const std::size_t after = text.find_first_not_of(" \t", i + 7);
    if (before == text.npos || text[before] != '#' || after == text.npos || text[after] != '"') {
      continue;
    }
    const std::size_t end = text.find_first_of("\"\n", after + 1);
    if (end != text.npos && text[end] == '"') {
      names.emplace_back(text.substr(after + 1, end - after - 1));
    }
  }
  return names;
}

std::vector<std::string> quoted_include_folders(const std::vector<std::string>& arguments,
                                                const std::string& directory) {
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    const bool separate = word == "-I" || word == "-iquote";
    if (separate && i + 1 < arguments.size()) {
      word = arguments[++i];
    } else if (word.starts_with("-I")) {
      word.remove_prefix(2);
    } else if (word.starts_with("-iquote")) {
      word.remove_prefix(7);
    } else {
      continue;
    }
    folders.push_back((fs::path(directory) / word).lexically_normal().string());
  }
  return folders;
}

const IncludedText::File* IncludedText::read(const std::string& path) {
  const auto [known, fresh] = files_.try_emplace(path);
  std::error_code ignored;
  std::string text;
  if (fresh && fs::is_regular_file(path, ignored) && read_file(path, text)) {
    std::vector<std::string> includes = quoted_includes(text);
    known->second = File{path, std::move(text), std::move(includes)};
  }
  return known->second ? &*known->second : nullptr;
}

std::vector<const IncludedText::File*> IncludedText::of(const std::string& file,
                                                        const std::vector<std::string>& folders) {
  constexpr std::size_t kMostFiles = 2000;  // more headers of a project are not searched
  std::vector<const File*> found;
  std::set<std::string> seen{file};
  std::vector<std::string> pending{file};
  while (!pending.empty() && seen.size() < kMostFiles) {
    const File* each = read(pending.back());
    pending.pop_back();
    if (each == nullptr) {
      continue;
    }
    found.push_back(each);
    for (const std::string& name : each->includes) {
      std::vector<std::string> places{fs::path(each->path).parent_path().string()};
      places.insert(places.end(), folders.begin(), folders.end());
      for (const std::string& folder : places) {
        const std::string candidate = (fs::path(folder) / name).lexically_normal().string();
        if (read(candidate) != nullptr) {
          if (seen.insert(candidate).second) {
            pending.push_back(candidate);
          }
          break;
        }
      }
    }
  }
  return found;
}

}  // namespace streamsan::analyzer
