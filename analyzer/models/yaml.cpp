// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of user models (docs/analyzer-models.md teaches the format).
//
// An entry is one function and one verb: what the function does. The verbs are those of the stream IR (works, records,
// waits, synchronises ...), the rest of an entry says by which arguments. It is turned into the same Model that a
// built-in function has, so whatever holds for those, captures, default streams, messages, holds for a user's function.
//
// Whoever writes such a file learns at once where it is wrong: keys that are not known, values of another kind, a verb
// that needs a stream and has none, are errors with line and column. Nothing is guessed and nothing is passed over.
#include "analyzer/models/yaml.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/YAMLParser.h>

#include <algorithm>
#include <array>
#include <limits>

#include "analyzer/models/entry.h"

namespace streamsan::analyzer {

namespace {

namespace yaml = llvm::yaml;
using ordering::MemoryKind;
using ordering::StreamKind;

/// The largest position of an argument that api::Position holds.
constexpr int kMostArguments = std::numeric_limits<api::Position>::max();

template <typename T, std::size_t N>
using Words = std::array<std::pair<std::string_view, T>, N>;

constexpr Words<MemoryKind, 6> kMemoryWords{{{"device", MemoryKind::Device},
                                             {"stream-ordered", MemoryKind::DeviceAsync},
                                             {"managed", MemoryKind::Managed},
                                             {"pinned", MemoryKind::Pinned},
                                             {"registered", MemoryKind::Registered},
                                             {"pageable", MemoryKind::Pageable}}};
constexpr Words<StreamKind, 2> kStreamWords{
    {{"blocking", StreamKind::Blocking}, {"non-blocking", StreamKind::NonBlocking}}};
constexpr Words<ir::TypeKind, 5> kTypeWords{{{"stream", ir::TypeKind::Stream},
                                             {"event", ir::TypeKind::Event},
                                             {"graph", ir::TypeKind::Graph},
                                             {"pointer", ir::TypeKind::Pointer},
                                             {"owner", ir::TypeKind::Object}}};
constexpr Words<bool, 2> kBoolWords{{{"true", true}, {"false", false}}};
constexpr Words<Sync, 3> kSyncWords{{{"stream", Sync::Stream}, {"event", Sync::Event}, {"device", Sync::Device}}};
constexpr Words<ir::Mode, 3> kWorkKeys{
    {{"reads", ir::Mode::Read}, {"writes", ir::Mode::Write}, {"updates", ir::Mode::ReadWrite}}};
constexpr Words<ir::Mode, 2> kHostKeys{{{"host_reads", ir::Mode::Read}, {"host_writes", ir::Mode::Write}}};
constexpr Words<Verb, 9> kPositionKeys{{{"record", Verb::Records},
                                        {"wait", Verb::Waits},
                                        {"allocates", Verb::Allocates},
                                        {"frees", Verb::Frees},
                                        {"creates_stream", Verb::CreatesStream},
                                        {"creates_event", Verb::CreatesEvent},
                                        {"destroys_stream", Verb::DestroysStream},
                                        {"destroys_event", Verb::DestroysEvent},
                                        {"keeps", Verb::Keeps}}};

template <typename T, std::size_t N>
std::optional<T> lookup(std::string_view word, const Words<T, N>& words) {
  for (const auto& [name, meaning] : words)
    if (name == word) return meaning;
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string path, std::string& error) : path_(std::move(path)), error_(error) {}

  bool read(UserModels& out) {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    if (!buffer) {
      error_ = path_ + ": " + buffer.getError().message();
      return false;
    }
    sources_.setDiagHandler(
        [](const llvm::SMDiagnostic& diagnostic, void* self) { static_cast<Reader*>(self)->complain(diagnostic); },
        this);
    yaml::Stream stream((*buffer)->getMemBufferRef(), sources_, /*ShowColors=*/false);
    for (yaml::Document& document : stream) {
      yaml::Node* const root = document.getRoot();
      if (failed()) return false;
      if (root == nullptr || llvm::isa<yaml::NullNode>(root)) continue;
      read_document(*root, out);
      // The parser reports broken syntax on the way; its first complaint is the one that explains.
      if (failed() || stream.failed()) return fail(*root, "not valid YAML");
    }
    return !failed() && !stream.failed();
  }

 private:
  [[nodiscard]] bool failed() const { return !error_.empty(); }

  void complain(const llvm::SMDiagnostic& diagnostic) {
    if (failed()) return;
    error_ = path_ + ":" + std::to_string(std::max(diagnostic.getLineNo(), 1)) + ":" +
             std::to_string(diagnostic.getColumnNo() + 1) + ": " + diagnostic.getMessage().str();
  }

  /// Keeps the first error.
  bool fail(yaml::Node& at, const std::string& reason) {
    if (failed()) return false;
    const auto [line, column] = sources_.getLineAndColumn(at.getSourceRange().Start);
    error_ = path_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + reason;
    return false;
  }

  std::string text_of(yaml::Node* node) {
    llvm::SmallString<64> storage;
    if (auto* scalar = llvm::dyn_cast_or_null<yaml::ScalarNode>(node)) return scalar->getValue(storage).str();
    return {};
  }

  std::string text(yaml::Node& node, const std::string& key) {
    if (!llvm::isa<yaml::ScalarNode>(&node)) fail(node, "'" + key + "' wants one word");
    return text_of(&node);
  }

  template <typename T, std::size_t N>
  std::optional<T> word(yaml::Node& node, const std::string& key, const Words<T, N>& words) {
    const std::string value = text(node, key);
    if (const std::optional<T> meaning = lookup(value, words)) return meaning;
    std::string choices;
    for (const auto& [name, meaning] : words) choices += (choices.empty() ? "" : ", ") + std::string(name);
    fail(node, "'" + key + "' is one of " + choices + "; not '" + value + "'");
    return std::nullopt;
  }

  std::optional<int> number(const std::string& value) {
    int out = 0;
    if (llvm::StringRef(value).getAsInteger(10, out) || out < 0 || out > kMostArguments) return std::nullopt;
    return out;
  }

  int position(yaml::Node& node, const std::string& key) {
    const std::string value = text(node, key);
    if (value == "object") return kObject;
    if (value == "result") return kResult;
    if (const std::optional<int> found = number(value)) return *found;
    fail(node, "'" + key + "' wants the position of an argument (from 0), object or result; not '" + value + "'");
    return 0;
  }

  StreamWord stream(yaml::Node& node) {
    const std::string value = text(node, "stream");
    if (value == "default") return {.from = StreamFrom::Default};
    if (value == "current") return {.from = StreamFrom::Current};
    if (value == "any") return {.from = StreamFrom::Typed};
    if (value == "object") return {.from = StreamFrom::Argument, .argument = kObject};
    if (const std::optional<int> found = number(value)) return {.from = StreamFrom::Argument, .argument = *found};
    fail(node,
         "'stream' wants the position of an argument (from 0), object, any, current or default; not '" + value + "'");
    return {};
  }

  void add_roles(yaml::Node& node, const std::string& key, ir::Mode mode, bool host, Entry& entry) {
    const auto add = [&](yaml::Node& one) {
      entry.roles.push_back({.argument = position(one, key), .mode = mode, .host = host});
    };
    if (auto* list = llvm::dyn_cast<yaml::SequenceNode>(&node)) {
      for (yaml::Node& one : *list) {
        if (failed()) return;
        add(one);
      }
    } else {
      add(node);
    }
  }

  /// Keys that say what the function does. False: it is none of them.
  bool read_verb(const std::string& key, yaml::Node& value, Entry& entry) {
    if (const std::optional<Verb> verb = lookup(key, kPositionKeys)) {
      entry.says(*verb, key);
      entry.operand = position(value, key);
    } else if (const std::optional<ir::Mode> mode = lookup(key, kWorkKeys)) {
      entry.says(Verb::Works, key);
      add_roles(value, key, *mode, false, entry);
    } else if (const std::optional<ir::Mode> touch = lookup(key, kHostKeys)) {
      entry.says(Verb::HostTouches, key);
      add_roles(value, key, *touch, true, entry);
    } else if (key == "sync") {
      entry.says(Verb::Synchronises, key);
      entry.sync = word(value, key, kSyncWords).value_or(Sync::Device);
    } else if (key == "returns") {
      entry.says(Verb::Returns, key);
      const std::string what = text(value, key);
      if (what == "current")
        entry.stream = StreamWord{.from = StreamFrom::Current};
      else if (what == "default")
        entry.stream = StreamWord{.from = StreamFrom::Default};
      else if (what == "stream")
        entry.returns_stream = true;
      else
        entry.operand = position(value, key);
    } else if (key == "sets_stream_of") {
      entry.says(Verb::SetsStream, key);
      entry.handle = position(value, key);
    } else if (key == "makes_current" || key == "nothing") {
      entry.says(key == "nothing" ? Verb::Nothing : Verb::MakesCurrent, key);
      if (!word(value, key, kBoolWords).value_or(true)) fail(value, "'" + key + "' is true, or not there");
    } else {
      return false;
    }
    return true;
  }

  /// Keys that say by what it does it. False: it is none of them.
  bool read_detail(const std::string& key, yaml::Node& value, Entry& entry) {
    if (key == "function") {
      entry.function = text(value, key);
    } else if (key == "arguments") {
      const std::optional<int> count = number(text(value, key));
      if (!count) fail(value, "'arguments' wants how many arguments the function has");
      entry.arguments = count.value_or(kAnyArguments);
    } else if (key == "stream") {
      entry.stream = stream(value);
    } else if (key == "handle") {
      entry.handle = position(value, key);
    } else if (key == "event") {
      entry.event = position(value, key);
    } else if (key == "bytes") {
      entry.bytes = position(value, key);
    } else if (key == "synchronous") {
      entry.synchronous = word(value, key, kBoolWords).value_or(false);
    } else if (key == "memory") {
      entry.memory = word(value, key, kMemoryWords);
    } else if (key == "kind") {
      entry.kind = word(value, key, kStreamWords);
    } else if (key == "timing") {
      entry.timing = word(value, key, kBoolWords);
    } else {
      return false;
    }
    return true;
  }

  void read_model(yaml::Node& node, UserModels& out) {
    auto* const map = llvm::dyn_cast<yaml::MappingNode>(&node);
    if (map == nullptr) {
      fail(node, "a model is a map that begins with 'function:'");
      return;
    }
    Entry entry;
    for (yaml::KeyValueNode& pair : *map) {
      yaml::Node* const key_node = pair.getKey();
      yaml::Node* const value = pair.getValue();
      if (failed() || key_node == nullptr || value == nullptr) return;
      const std::string key = text_of(key_node);
      if (!read_verb(key, *value, entry) && !read_detail(key, *value, entry)) {
        fail(*key_node, "a model has no '" + key + "'");
        return;
      }
      if (failed()) return;
    }
    UserModel model;
    if (const std::string reason = make_model(entry, model); !reason.empty()) {
      fail(node, reason);
      return;
    }
    out.models.push_back(std::move(model));
  }

  void read_type(yaml::Node& node, UserModels& out) {
    auto* const map = llvm::dyn_cast<yaml::MappingNode>(&node);
    if (map == nullptr) {
      fail(node, "a type is a map that begins with 'name:'");
      return;
    }
    std::string name;
    TypeFacts facts;
    Models::Owner owner;
    bool said_owner = false;
    for (yaml::KeyValueNode& pair : *map) {
      yaml::Node* const key_node = pair.getKey();
      yaml::Node* const value = pair.getValue();
      if (failed() || key_node == nullptr || value == nullptr) return;
      const std::string key = text_of(key_node);
      if (key == "name") {
        name = text(*value, key);
      } else if (key == "is") {
        facts.kind = word(*value, key, kTypeWords).value_or(ir::TypeKind::Other);
      } else if (key == "memory") {
        owner.memory = word(*value, key, kMemoryWords).value_or(owner.memory);
        said_owner = true;
      } else if (key == "stream_ordered") {
        owner.stream_ordered = word(*value, key, kBoolWords).value_or(false);
        said_owner = true;
      } else if (key == "tensor") {
        owner.tensor = word(*value, key, kBoolWords).value_or(false);
        said_owner = true;
      } else {
        fail(*key_node, "a type has no '" + key + "'");
      }
      if (failed()) return;
    }
    if (name.empty()) {
      fail(node, "a type wants a 'name'");
    } else if (facts.kind == ir::TypeKind::Other) {
      fail(node, "the type '" + name + "' wants 'is': stream, event, graph, pointer or owner");
    } else if (said_owner && facts.kind != ir::TypeKind::Object) {
      fail(node, "the type '" + name + "' says how it owns memory but is no owner");
    } else {
      if (facts.kind == ir::TypeKind::Object) facts.owner = owner;
      out.types.emplace_back(name, facts);
    }
  }

  void read_document(yaml::Node& root, UserModels& out) {
    auto* const map = llvm::dyn_cast<yaml::MappingNode>(&root);
    if (map == nullptr) {
      fail(root, "the file wants 'models:' and 'types:'");
      return;
    }
    for (yaml::KeyValueNode& pair : *map) {
      yaml::Node* const key_node = pair.getKey();
      yaml::Node* const value = pair.getValue();
      if (failed() || key_node == nullptr || value == nullptr) return;
      const std::string key = text_of(key_node);
      if (key != "models" && key != "types") {
        fail(*key_node, "the file has 'models:' and 'types:', no '" + key + "'");
        return;
      }
      auto* const list = llvm::dyn_cast<yaml::SequenceNode>(value);
      if (list == nullptr) {
        fail(*value, "'" + key + "' wants a list");
        return;
      }
      for (yaml::Node& one : *list) {
        if (failed()) return;
        key == "models" ? read_model(one, out) : read_type(one, out);
      }
    }
  }

  std::string path_;
  std::string& error_;
  llvm::SourceMgr sources_;
};

}  // namespace

bool read_yaml(const std::string& path, UserModels& out, std::string& error) {
  error.clear();
  return Reader(path, error).read(out);
}

}  // namespace streamsan::analyzer
