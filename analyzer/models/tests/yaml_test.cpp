// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model files: the example of the documents means what its comments say, every key that the page teaches is one that
// the reader knows, and a mistake is reported with its place.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "analyzer/models/model.h"

namespace streamsan::analyzer {
namespace {

using api::CallForm;
using api::EffectKind;
using ordering::MemoryKind;
using ordering::StreamKind;

const Model& get(const Models& models, const std::string& function, unsigned arguments = 1) {
  static const Model none;
  Callee callee;
  callee.qualified = function;
  callee.arguments = arguments;
  const Model* const found = models.find(callee);
  EXPECT_NE(found, nullptr) << function;
  return found == nullptr ? none : *found;
}

/// A file that lives as long as this.
class ModelFile {
 public:
  explicit ModelFile(const std::string& text)
      : path_(testing::TempDir() + "streamsan_models_" + std::to_string(getpid()) + "_" + std::to_string(++count_) +
              ".yaml") {
    std::ofstream(path_) << text;
  }
  ~ModelFile() { std::remove(path_.c_str()); }
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

  /// The error without the path in front; empty: there was none.
  [[nodiscard]] std::string error() const {
    Models models;
    std::string error;
    const bool read = models.read_yaml(path_, error);
    EXPECT_EQ(read, error.empty());
    if (error.starts_with(path_ + ":")) error.erase(0, path_.size() + 1);
    return error;
  }

 private:
  static inline int count_ = 0;
  std::string path_;
};

std::string error_of(const std::string& text) { return ModelFile(text).error(); }

TEST(YamlModels, TheExampleMeansWhatItSays) {
  Models models;
  std::string error;
  ASSERT_TRUE(models.read_yaml(STREAMSAN_EXAMPLE_MODELS, error)) << error;

  const Model& upload = get(models, "acme::upload");
  EXPECT_EQ(upload.action, ActionKind::LibraryWork);
  EXPECT_EQ(upload.name, "acme::upload");
  EXPECT_EQ(upload.stream_from, StreamFrom::Argument);
  EXPECT_EQ(upload.stream_argument, 3);
  EXPECT_EQ(upload.effect.form, CallForm::Asynchronous);
  ASSERT_EQ(upload.roles.size(), 2u);
  EXPECT_EQ(upload.roles[0].argument, 1);
  EXPECT_EQ(upload.roles[0].mode, ir::Mode::Read);
  EXPECT_EQ(upload.roles[1].mode, ir::Mode::Write);
  EXPECT_EQ(get(models, "acme::download").effect.form, CallForm::Synchronous);

  EXPECT_EQ(get(models, "acme::Solver::set_stream").action, ActionKind::SetHandleStream);
  EXPECT_EQ(get(models, "acme::Solver::set_stream").handle_argument, -1);
  EXPECT_EQ(get(models, "acme::Solver::set_stream").stream_argument, 0);
  EXPECT_EQ(get(models, "acme::Solver::solve").stream_from, StreamFrom::Handle);
  EXPECT_EQ(get(models, "acme::Solver::solve").roles.size(), 3u);

  EXPECT_EQ(get(models, "acme::Stream::native").action, ActionKind::Wrapper);
  EXPECT_EQ(get(models, "acme::Stream::native").value_argument, kObject);
  EXPECT_EQ(get(models, "acme::Stream::wait_until_done").effect.kind, EffectKind::SyncStream);
  EXPECT_EQ(get(models, "acme::Stream::wait_until_done").stream_argument, kObject);
  EXPECT_TRUE(get(models, "acme::Stream::wait_until_done").unsafe_in_capture);
  EXPECT_EQ(get(models, "acme::Stream::signal").effect.kind, EffectKind::EventRecord);
  EXPECT_EQ(get(models, "acme::Stream::signal").effect.event, 0);
  EXPECT_EQ(get(models, "acme::Stream::wait_for").effect.kind, EffectKind::EventWait);
  EXPECT_EQ(get(models, "acme::Stream::wait_for").effect.stream, kObject);
  EXPECT_EQ(get(models, "acme::make_stream").stream_kind, StreamKind::NonBlocking);
  EXPECT_EQ(get(models, "acme::make_stream").effect.object, kResult);
  EXPECT_EQ(get(models, "acme::make_event").timing, false);

  EXPECT_EQ(get(models, "acme::Pool::get", 2).effect.kind, EffectKind::AllocAsync);
  EXPECT_EQ(get(models, "acme::Pool::get", 2).memory, MemoryKind::DeviceAsync);
  EXPECT_EQ(get(models, "acme::Pool::put").effect.kind, EffectKind::FreeAsync);
  EXPECT_EQ(get(models, "acme::pinned").memory, MemoryKind::Pinned);
  EXPECT_EQ(get(models, "acme::write_file").action, ActionKind::HostTouch);
  EXPECT_EQ(get(models, "acme::barrier").effect.kind, EffectKind::SyncContext);
  EXPECT_EQ(get(models, "acme::log").action, ActionKind::Nothing);

  EXPECT_EQ(models.type("acme::Stream"), ir::TypeKind::Stream);
  EXPECT_EQ(models.type("acme::Event"), ir::TypeKind::Event);
  ASSERT_TRUE(models.owner("acme::Buffer").has_value());
  EXPECT_EQ(models.owner("acme::Buffer")->memory, MemoryKind::Device);
  EXPECT_TRUE(models.owner("acme::Buffer")->stream_ordered);
}

TEST(YamlModels, WithoutTheFileNothingOfItIsKnown) {
  const Models models;
  Callee callee;
  callee.qualified = "acme::upload";
  EXPECT_EQ(models.find(callee), nullptr);
  EXPECT_EQ(models.type("acme::Stream"), ir::TypeKind::Other);
}

TEST(YamlModels, AnArgumentCountChoosesTheOverload) {
  Models models;
  std::string error;
  ASSERT_TRUE(models.read_yaml(STREAMSAN_EXAMPLE_MODELS, error)) << error;
  Callee callee;
  callee.qualified = "acme::Pool::get";
  callee.arguments = 1;
  EXPECT_EQ(models.find(callee), nullptr);
}

TEST(YamlModels, GoBeforeBuiltInModels) {
  const ModelFile file("models:\n  - function: cudaMemcpyAsync\n    nothing: true\n");
  Models models;
  std::string error;
  ASSERT_TRUE(models.read_yaml(file.path(), error)) << error;
  EXPECT_EQ(get(models, "cudaMemcpyAsync").action, ActionKind::Nothing);
  EXPECT_EQ(get(models, "cudaMemcpy").action, ActionKind::Effect);
}

TEST(YamlModels, OtherVerbs) {
  const ModelFile file(
      "models:\n"
      "  - {function: a::keep, keeps: 0, stream: 1}\n"
      "  - {function: a::use, makes_current: true, stream: 0}\n"
      "  - {function: a::current, returns: current}\n"
      "  - {function: a::of_handle, returns: stream, handle: 0}\n"
      "  - {function: a::wait_event, sync: event, event: 0}\n"
      "  - {function: a::del, frees: 0, memory: pageable}\n"
      "  - {function: a::end, destroys_stream: 0}\n"
      "  - {function: a::end_event, destroys_event: object}\n"
      "  - {function: a::work, stream: any, updates: object}\n"
      "  - {function: a::fill, host_writes: [0, 1]}\n");
  Models models;
  std::string error;
  ASSERT_TRUE(models.read_yaml(file.path(), error)) << error;
  EXPECT_EQ(get(models, "a::keep").action, ActionKind::KeepAlive);
  EXPECT_EQ(get(models, "a::use").action, ActionKind::MakeCurrent);
  EXPECT_EQ(get(models, "a::current").action, ActionKind::GetCurrent);
  EXPECT_EQ(get(models, "a::of_handle").stream_from, StreamFrom::Handle);
  EXPECT_EQ(get(models, "a::wait_event").effect.event, 0);
  EXPECT_EQ(get(models, "a::del").action, ActionKind::MayThrowAway);
  EXPECT_EQ(get(models, "a::end").effect.kind, EffectKind::StreamDestroy);
  EXPECT_EQ(get(models, "a::end_event").effect.object, kObject);
  EXPECT_EQ(get(models, "a::work").stream_from, StreamFrom::Typed);
  EXPECT_EQ(get(models, "a::fill").roles.size(), 2u);
  EXPECT_TRUE(get(models, "a::fill").roles[0].host);
}

TEST(YamlModels, AnEmptyFileIsNoError) {
  EXPECT_EQ(error_of(""), "");
  EXPECT_EQ(error_of("# nothing yet\n"), "");
  EXPECT_EQ(error_of("models: []\ntypes: []\n"), "");
}

TEST(YamlModels, MistakesAreReportedWithTheirPlace) {
  const std::string head = "models:\n  - function: f\n";
  EXPECT_EQ(error_of("model: []\n"), "1:1: the file has 'models:' and 'types:', no 'model'");
  EXPECT_EQ(error_of("- a\n"), "1:1: the file wants 'models:' and 'types:'");
  EXPECT_EQ(error_of("models: yes\n"), "1:9: 'models' wants a list");
  EXPECT_EQ(error_of("models:\n  - f\n"), "2:5: a model is a map that begins with 'function:'");
  EXPECT_EQ(error_of(head + "    streams: 1\n"), "3:5: a model has no 'streams'");
  EXPECT_EQ(error_of(head + "    stream: left\n    reads: 0\n"),
            "3:13: 'stream' wants the position of an argument (from 0), object, any, current or default; not 'left'");
  EXPECT_EQ(error_of(head + "    stream: 1\n    reads: [0, -1]\n"),
            "4:16: 'reads' wants the position of an argument (from 0), object or result; not '-1'");
  EXPECT_EQ(error_of(head + "    reads: 0\n"), "2:5: the model of 'f' wants a 'stream', or a 'handle' that has one");
  EXPECT_EQ(error_of(head + "    record: 0\n    wait: 1\n    stream: 2\n"),
            "2:5: the model of 'f' does two things, 'record' and 'wait'; a model says one");
  EXPECT_EQ(error_of(head + "    sync: all\n"), "3:11: 'sync' is one of stream, event, device; not 'all'");
  EXPECT_EQ(error_of(head + "    sync: event\n"), "2:5: the model of 'f' wants an 'event'");
  EXPECT_EQ(error_of(head + "    sync: device\n    timing: true\n"),
            "2:5: the model of 'f' is wrong: 'timing' says nothing about 'sync'");
  EXPECT_EQ(error_of(head + "    allocates: 0\n    memory: fast\n"),
            "4:13: 'memory' is one of device, stream-ordered, managed, pinned, registered, pageable; not 'fast'");
  EXPECT_EQ(error_of("models:\n  - nothing: true\n"), "2:5: a model wants a 'function'");
  EXPECT_EQ(error_of(head + "    nothing: false\n"), "3:14: 'nothing' is true, or not there");
  EXPECT_TRUE(error_of(head).starts_with("2:5: the model of 'f' does not say what it does"));
  EXPECT_EQ(error_of(head + "    sets_stream_of: object\n"), "2:5: the model of 'f' wants a 'stream'");
  EXPECT_EQ(error_of(head + "    stream: 0\n    handle: 1\n    reads: 2\n"),
            "2:5: the model of 'f' has both a 'stream' and a 'handle'");
  EXPECT_EQ(error_of("types:\n  - name: T\n"), "2:5: the type 'T' wants 'is': stream, event, graph, pointer or owner");
  EXPECT_EQ(error_of("types:\n  - name: T\n    is: stream\n    memory: device\n"),
            "2:5: the type 'T' says how it owns memory but is no owner");
  EXPECT_EQ(error_of("types:\n  - name: T\n    is: thing\n"),
            "3:9: 'is' is one of stream, event, graph, pointer, owner; not 'thing'");
  EXPECT_EQ(error_of("types:\n  - is: stream\n"), "2:5: a type wants a 'name'");
}

TEST(YamlModels, BrokenSyntaxIsReportedWithItsPlace) {
  for (const char* text :
       {"models: [\n", "models:\n  - function: 'f\n", "a: b: c\n", "models:\n\t- x\n", "models: {a: [}\n"}) {
    const std::string error = error_of(text);
    EXPECT_TRUE(std::regex_search(error, std::regex("^[0-9]+:[0-9]+: .+"))) << text << " -> " << error;
  }
}

TEST(YamlModels, AMissingFileIsAnError) {
  Models models;
  std::string error;
  EXPECT_FALSE(models.read_yaml("/nowhere/models.yaml", error));
  EXPECT_EQ(error, "/nowhere/models.yaml: No such file or directory");
}

/// Every `key:` that the page's tables name is known, and every example on it can be read.
TEST(YamlModels, ThePageIsTrue) {
  std::ifstream file(STREAMSAN_MODELS_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::regex block("```yaml\n([^`]*)```");
  int blocks = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), block), end; at != end; ++at, ++blocks)
    EXPECT_EQ(error_of((*at)[1]), "") << (*at)[1];
  EXPECT_GE(blocks, 4);
  const std::regex row("\n\\| `([a-z_]+)`");
  std::set<std::string> keys;
  for (std::sregex_iterator at(page.begin(), page.end(), row), end; at != end; ++at) keys.insert((*at)[1]);
  EXPECT_GE(keys.size(), 25u);
  for (const std::string& key : keys) {
    const std::string model = error_of("models:\n  - " + key + ": ?\n");
    const std::string type = error_of("types:\n  - " + key + ": ?\n");
    EXPECT_TRUE(model.find("a model has no") == std::string::npos || type.find("a type has no") == std::string::npos)
        << key;
  }
}

}  // namespace
}  // namespace streamsan::analyzer
