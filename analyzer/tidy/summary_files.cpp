// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tidy/summary_files.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "analyzer/ir/text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text, std::vector<std::string>& errors) {
  llvm::Error error = llvm::writeToOutput(path.string(), [&](llvm::raw_ostream& out) {
    out << text;
    return llvm::Error::success();
  });
  if (error)
    errors.push_back("summaries cannot be written to '" + path.parent_path().string() +
                     "': " + llvm::toString(std::move(error)));
}

}  // namespace

std::string summary_name(const std::string& source, unsigned compilation) {
  return llvm::sys::path::stem(source).str() + "-" + llvm::utohexstr(llvm::xxh3_64bits(source), /*LowerCase=*/true) +
         (compilation == 0 ? "" : "-" + std::to_string(compilation));
}

void write_summaries(const ir::Program& program, const ir::Links& links, const std::string& name,
                     const std::string& folder, std::vector<std::string>& errors) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  write(fs::path(folder) / (name + ".json"), ir::print_summaries(program), errors);
  write(fs::path(folder) / (name + ".links"), ir::print(links), errors);
}

std::set<std::string> read_summaries(ir::Program& program, const ir::Links& own, const std::string& own_name,
                                     const std::string& folder, std::vector<std::string>& errors) {
  std::set<std::string> read;
  std::error_code failed;
  std::map<std::string, fs::path> files;  // in the order of their names
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->path().extension() != ".json") continue;
    if (std::string name = at->path().stem().string(); name != own_name) files.emplace(std::move(name), at->path());
  }
  if (failed) errors.push_back("summaries cannot be read from '" + folder + "': " + failed.message());

  const auto add = [&](const std::string& name, const std::set<std::string>* wanted) {
    const fs::path& file = files.at(name);
    const auto buffer = llvm::MemoryBuffer::getFile(file.string());
    std::string error = buffer ? "" : buffer.getError().message();
    if (buffer) ir::read_summaries((*buffer)->getBuffer(), program, error, wanted);
    if (!error.empty()) errors.push_back("summary '" + file.string() + "' cannot be read: " + error);
    read.insert(name);
  };
  std::vector<std::string> with_links;
  std::vector<ir::Links> links;
  for (const auto& [name, file] : files) {
    const fs::path beside = fs::path(file).replace_extension(".links");
    const auto buffer = llvm::MemoryBuffer::getFile(beside.string());
    if (!buffer) {
      add(name, nullptr);
    } else if (ir::Links one; ir::read_links((*buffer)->getBuffer(), one)) {
      with_links.push_back(name);
      links.push_back(std::move(one));
    } else {
      errors.push_back("links of a summary, '" + beside.string() + "', cannot be read: damaged, or of another version");
    }
  }
  const auto position = static_cast<std::size_t>(std::ranges::lower_bound(with_links, own_name) - with_links.begin());
  const ir::Neighbours::Needed needed = ir::Neighbours(links).of(own, position);
  for (const std::size_t unit : needed.units) add(with_links[unit], &needed.functions);
  return read;
}

}  // namespace streamsan::analyzer
