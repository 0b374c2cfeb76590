// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which repairs are certain: each case is a program, a fix for the text marked `>>...<<`, and the program after it. An
// unchanged program means that the repair was in doubt.
#include <gtest/gtest.h>

#include "analyzer/lowering/tests/parse.h"
#include "analyzer/tidy/places.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace streamsan::analyzer {
namespace {

constexpr const char* kPrelude =
    "struct St; typedef St* S; int sync(S); int dev(); int use(float*); void run(S, int = 0); \n";

/// Applies the fix to the marked call. The statement begins at `@`, or with the call if there is none.
std::string fixed(std::string code, Fix::Kind kind, std::string text, std::vector<std::string> names) {
  const auto drop = [&code](const char* mark) {
    const std::size_t at = code.find(mark);
    if (at != std::string::npos) {
      code.erase(at, std::string_view(mark).size());
    }
    return at;
  };
  const std::size_t statement = drop("@");
  const std::size_t begin = drop(">>");
  const std::size_t end = drop("<<");
  const std::string prelude = kPrelude;
  const auto unit = parse(prelude + code, {"-std=c++17"}, "a.cpp");
  clang::ASTContext& context = *unit;
  const clang::SourceManager& sources = context.getSourceManager();
  const auto raw = [&](std::size_t at) {
    return sources.getLocForStartOfFile(sources.getMainFileID())
        .getLocWithOffset(static_cast<int>(prelude.size() + at))
        .getRawEncoding();
  };

  Fix fix;
  fix.kind = kind;
  fix.text = std::move(text);
  fix.names = std::move(names);
  fix.site.begin = raw(begin);
  fix.site.end = raw(end - 1);
  fix.site.statement = raw(statement == std::string::npos ? begin : statement);
  fix.site.stream_begin = kind == Fix::Kind::PassStream ? fix.site.begin : 0;
  fix.site.stream_end = kind == Fix::Kind::PassStream && begin != end ? fix.site.end : 0;
  fix.site.stream_prefix = ", 0, ";

  std::string result = prelude + code;
  for (const clang::FixItHint& hint : repairs({fix}, context)) {
    const clang::CharSourceRange range =
        clang::Lexer::makeFileCharRange(hint.RemoveRange, sources, context.getLangOpts());
    const unsigned from = sources.getFileOffset(range.getBegin());
    result.replace(from, sources.getFileOffset(range.getEnd()) - from, hint.CodeToInsert);
  }
  return result.substr(prelude.size());
}

std::string wait_first(std::string code, std::string name = "s") {
  return fixed(std::move(code), Fix::Kind::InsertBefore, "sync(" + name + ");", {name});
}
std::string removed(std::string code) { return fixed(std::move(code), Fix::Kind::RemoveStatement, "", {}); }

std::string unmarked(std::string code) {
  for (const char* mark : {"@", ">>", "<<"}) {
    if (const std::size_t at = code.find(mark); at != std::string::npos) {
      code.erase(at, std::string_view(mark).size());
    }
  }
  return code;
}

TEST(Insert, InABlock) {
  EXPECT_EQ(wait_first("void f(S s, float* h) {\n    >>use(h)<<;\n}"),
            "void f(S s, float* h) {\n    sync(s);\n    use(h);\n}");
  EXPECT_EQ(wait_first("int f(S s, float* h) {\n\t@return >>use(h)<<;\n}"),
            "int f(S s, float* h) {\n\tsync(s);\n\treturn use(h);\n}");
  EXPECT_EQ(wait_first("void f(S s, float* h) {\n  @if (>>use(h)<<) run(s);\n}"),
            "void f(S s, float* h) {\n  sync(s);\n  if (use(h)) run(s);\n}");
  EXPECT_EQ(wait_first("template <class T> void f(S s, T* h) {\n  >>use(h)<<;\n}"),
            "template <class T> void f(S s, T* h) {\n  sync(s);\n  use(h);\n}");
  EXPECT_EQ(wait_first("void f(S s, float* h) {\r\n  >>use(h)<<;\r\n}\r\n"),
            "void f(S s, float* h) {\r\n  sync(s);\r\n  use(h);\r\n}\r\n");
}

TEST(Insert, NotWhereNoLineCanStand) {
  for (const char* code :
       {"void f(S s, float* h) { if (h) >>use(h)<<; }", "void f(S s, float* h) { @while (>>use(h)<<) run(s); }",
        "void f(S s, float* h) { @do run(s); while (>>use(h)<<); }",
        "void f(S s, float* h) { @for (; >>use(h)<<;) run(s); }", "void f(S s, float* h) { @label: >>use(h)<<; }",
        "void f(S s, float* h, int i) { switch (i) { @case 1: >>use(h)<<; } }", "S s; float h; int x = >>use(&h)<<;"}) {
    EXPECT_EQ(wait_first(code), unmarked(code));
  }
}

TEST(Names, MeanOneThing) {
  const auto certain = [](const char* code, const char* name = "s") {
    return wait_first(code, name) != unmarked(code);
  };
  EXPECT_TRUE(certain("void f(float* h) { S s = nullptr; >>use(h)<<; }"));
  EXPECT_TRUE(certain("S s; void f(float* h) { >>use(h)<<; }"));
  EXPECT_TRUE(certain("struct C { S s; void f(float* h) { >>use(h)<<; } };"));
  EXPECT_TRUE(certain("struct C { S s; void f(float* h) { >>use(h)<<; } };", "this->s"));
  // Not there, not any more, not yet, or twice.
  EXPECT_FALSE(certain("void f(float* h) { >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(float* h) { { S s = nullptr; run(s); } >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(float* h) { >>use(h)<<; S s = nullptr; run(s); }"));
  EXPECT_FALSE(certain("void f(S s, float* h) { { S s = nullptr; run(s); } >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(float* h) { if (S s = nullptr) run(s); >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(S s, float* h) { auto g = [=] { >>use(h)<<; }; g(); run(s); }"));
  EXPECT_FALSE(certain("struct C { S s; static void f(float* h) { >>use(h)<<; } };"));
  EXPECT_FALSE(certain("void f(float* h) { >>use(h)<<; }", "this->s"));
}

TEST(Names, KeepTheirValue) {
  const auto certain = [](const char* code) { return wait_first(code) != unmarked(code); };
  EXPECT_TRUE(certain("void make(S*); void f(float* h) { S s; make(&s); run(s); >>use(h)<<; }"));
  EXPECT_TRUE(certain("void make(S*); void f(float* h) { S s = 0; make(&s); run(s); >>use(h)<<; }"));
  EXPECT_TRUE(certain("void make(S*); void f(float* h) { S s{}; make(&s); run(s); >>use(h)<<; }"));
  EXPECT_TRUE(certain("void f(float* h, S t) { S s; s = t; run(s); >>use(h)<<; }"));
  EXPECT_FALSE(certain("void make(S*); void f(float* h) { S s; make(&s); run(s); make(&s); >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(float* h, S t) { S s = t; run(s); s = nullptr; s = t; >>use(h)<<; }"));
  EXPECT_FALSE(certain("void f(float* h, S s, S t) { run(s); s = t; >>use(h)<<; }"));
  EXPECT_FALSE(certain("struct W { operator S() const; }; void f(float* h, W s, W t) { run(s); s = t; >>use(h)<<; }"));
}

TEST(Names, AreHandles) {
  const auto certain = [](const char* code, const char* name) { return wait_first(code, name) != unmarked(code); };
  EXPECT_FALSE(certain("void f(int s, float* h) { >>use(h)<<; }", "s"));
  EXPECT_TRUE(certain("struct W { operator S() const; }; void f(W s, float* h) { >>use(h)<<; }", "s"));
  EXPECT_TRUE(certain("struct W { operator S() const; }; void f(const W& s, float* h) { >>use(h)<<; }", "s"));
  EXPECT_FALSE(certain("struct W { explicit operator S() const; }; void f(W s, float* h) { >>use(h)<<; }", "s"));
  EXPECT_FALSE(certain("struct W { S get(); }; void f(W s, float* h) { >>use(h)<<; }", "s"));
  EXPECT_FALSE(certain("template <class T> void f(T s, float* h) { >>use(h)<<; }", "s"));
}

TEST(Names, Members) {
  const auto certain = [](const char* code, const char* name) { return wait_first(code, name) != unmarked(code); };
  const char* open = "struct W { S s; S a[2]; }; void f(W w, W* p, float* h) { >>use(h)<<; }";
  EXPECT_TRUE(certain(open, "w.s"));
  EXPECT_TRUE(certain(open, "p->s"));
  EXPECT_TRUE(certain(open, "w.a[1]"));
  EXPECT_FALSE(certain(open, "p.s"));
  EXPECT_FALSE(certain(open, "w->s"));
  EXPECT_FALSE(certain(open, "w.a"));
  EXPECT_FALSE(certain(open, "w.t"));
  EXPECT_FALSE(certain("class W { S s; }; void f(W w, float* h) { >>use(h)<<; }", "w.s"));
}

TEST(Remove, TheVeryCall) {
  EXPECT_EQ(removed("void f(S s) {\n  run(s);\n  >>sync(s)<<;\n  run(s);\n}"),
            "void f(S s) {\n  run(s);\n  run(s);\n}");
  EXPECT_EQ(removed("void f(S s) {\r\n  run(s);\r\n  >>sync(s)<<; \r\n  run(s);\r\n}"),
            "void f(S s) {\r\n  run(s);\r\n  run(s);\r\n}");
  EXPECT_EQ(removed("void f(S s) { run(s); >>sync(s)<<; }"), "void f(S s) { run(s);  }");
  EXPECT_EQ(
      removed("#define CHECK(x) do { int e = (x); (void)e; } while (0)\nvoid f(S s) {\n  @CHECK(>>sync(s)<<);\n}"),
      "#define CHECK(x) do { int e = (x); (void)e; } while (0)\nvoid f(S s) {\n}");
  EXPECT_EQ(removed("#define CHECK(x) { int e = (x); (void)e; }\nvoid f(S s) {\n  @CHECK(>>sync(s)<<);\n}"),
            "#define CHECK(x) { int e = (x); (void)e; }\nvoid f(S s) {\n}");
}

TEST(Remove, NotWhatSomebodyNeeds) {
  for (const char* code : {"int f(S s) { int e; @e = >>sync(s)<<; return e; }", "int f(S s) { @return >>sync(s)<<; }",
                           "void f(S s) { @if (>>sync(s)<<) run(s); }", "void f(S s) { if (s) >>sync(s)<<; }",
                           "void f(S s) { @int e = >>sync(s)<<; (void)e; }", "void f(S s) { @dev() + >>sync(s)<<; }",
                           "#define CHECK(x) (x)\nint f(S s) { @return CHECK(>>sync(s)<<); }"}) {
    EXPECT_EQ(removed(code), unmarked(code)) << code;
  }
}

TEST(Replace, TheCall) {
  EXPECT_EQ(fixed("int f(S s) { return >>dev()<<; }", Fix::Kind::ReplaceCall, "sync(s)", {"s"}),
            "int f(S s) { return sync(s); }");
  EXPECT_EQ(fixed("int f() { return >>dev()<<; }", Fix::Kind::ReplaceCall, "sync(s)", {"s"}),
            "int f() { return dev(); }");
}

TEST(Pass, TheStream) {
  EXPECT_EQ(fixed("void f(S s) { run(>>0<<); }", Fix::Kind::PassStream, "s", {"s"}), "void f(S s) { run(s); }");
  EXPECT_EQ(fixed("void f(S s) { run(0>><<); }", Fix::Kind::PassStream, "s", {"s"}), "void f(S s) { run(0, 0, s); }");
  EXPECT_EQ(fixed("void f() { run(>>0<<); }", Fix::Kind::PassStream, "s", {"s"}), "void f() { run(0); }");
}

TEST(Locate, SitesWithoutRawLocations) {
  const auto unit = parse("int a;\nint b;\n", {}, "a.cpp");
  const clang::SourceManager& sources = unit->getSourceManager();
  ir::Site site;
  site.file = "a.cpp";
  site.line = 2;
  site.column = 5;
  EXPECT_EQ(sources.getFileOffset(locate(site, *unit)), 11U);
  site.file = "elsewhere.cu";
  EXPECT_TRUE(locate(site, *unit).isInvalid());
}

}  // namespace
}  // namespace streamsan::analyzer
