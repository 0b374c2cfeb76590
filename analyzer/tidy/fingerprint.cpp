// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fingerprints.
//
// A finding is the same while its check, file, function and message are. Lines are left out, so that an edit above
// does not make old findings new ones; so are numbers in the message, as far as they are no part of a name: they stand
// for sizes and indices. What remains can be equal twice in one function: the second gets "#2", in source order.
//
// The file counts by its path from the root of its repository, so that two checkouts, and a laptop and CI, agree. A
// source package has no .git: there the outermost folder with a build file counts as the root
// (report/common/repository.h). Without either it is the path from the working folder, or the absolute path.
#include "analyzer/tidy/fingerprint.h"

#include <cctype>
#include <filesystem>
#include <map>
#include <optional>

#include "llvm/Support/JSON.h"
#include "llvm/Support/MD5.h"
#include "llvm/Support/MemoryBuffer.h"
#include "report/common/fingerprint.h"
#include "report/common/repository.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

std::string stable_path(const std::string& file) {
  std::error_code failed;
  const fs::path path = fs::absolute(file, failed).lexically_normal();
  if (failed) {
    return file;
  }
  if (const std::optional<fs::path> root = report::repository_around(path)) {
    return path.lexically_relative(*root).generic_string();
  }
  const fs::path here = fs::current_path(failed);
  const fs::path relative = failed ? fs::path{} : path.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? path.generic_string() : relative.generic_string();
}

/// The first eight bytes.
class Md5 {
 public:
  static constexpr char kEnd = '\0';
  void add(std::string_view bytes) { hash_.update(llvm::StringRef(bytes.data(), bytes.size())); }
  [[nodiscard]] std::uint64_t value() const {
    llvm::MD5 so_far = hash_;
    const llvm::MD5::MD5Result bytes = so_far.final();
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < 8; ++i) out = out << 8 | bytes[i];
    return out;
  }

 private:
  llvm::MD5 hash_;
};

/// "copies 4096 bytes to 'h2'" -> "copies # bytes to 'h2'"
std::string without_numbers(const std::string& message) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string result;
  for (std::size_t at = 0; at < message.size();) {
    std::size_t end = at;
    while (end < message.size() && is_word(message[end])) {
      ++end;
    }
    if (end == at) {
      result += message[at++];
      continue;
    }
    const bool number = std::isdigit(static_cast<unsigned char>(message[at])) != 0;
    result += number ? "#" : message.substr(at, end - at);
    at = end;
  }
  return result;
}

}  // namespace

void fingerprint(std::vector<Finding>& findings) {
  std::map<std::string, std::string> paths;
  report::FingerprintNumbers numbers;
  for (Finding& finding : findings) {
    auto [path, is_new] = paths.try_emplace(finding.site.file);
    if (is_new) {
      path->second = stable_path(finding.site.file);
    }
    report::HashedWords<Md5> words;
    words.add(id(finding.check));
    words.add(path->second);
    words.add(finding.function);
    words.add(without_numbers(finding.message));
    finding.fingerprint = numbers.numbered(words.text());
  }
}

std::set<std::string> read_baseline(const std::string& path, std::string& error) {
  const auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = "baseline '" + path + "' cannot be read: " + buffer.getError().message();
    return {};
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json) {
    error = "baseline '" + path + "' is not JSON: " + llvm::toString(json.takeError());
    return {};
  }
  const llvm::json::Object* object = json->getAsObject();
  const llvm::json::Array* list = object == nullptr ? nullptr : object->getArray("fingerprints");
  if (list == nullptr || object->getInteger("version") != 1) {
    error = "baseline '" + path + "' is not a baseline of version 1";
    return {};
  }
  std::set<std::string> result;
  for (const llvm::json::Value& value : *list) {
    if (const auto text = value.getAsString()) {
      result.insert(text->str());
    }
  }
  return result;
}

}  // namespace streamsan::analyzer
