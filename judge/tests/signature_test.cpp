// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/signature.h"

#include <gtest/gtest.h>

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using Modes = std::vector<AccessMode>;
constexpr AccessMode R = AccessMode::Read;
constexpr AccessMode U = AccessMode::Unknown;

TEST(Signature, PointsToConst) {
  for (const char* yes : {"float const*", "const float*", "float const* __restrict__", "float const* const",
                          "T const *", "float const volatile*", "float* const*", "void const*",
                          "std::pair<int*, float> const*", "float const (*) [16]", "double const*__restrict"}) {
    EXPECT_TRUE(points_to_const(yes)) << yes;
  }
  for (const char* no : {"float*", "float* const", "float* __restrict__", "float const**", "float",
                         "void (*)(float const*)", "float (*) [16]", "std::vector<float const*>", "float const&",
                         "const float**", "constant*", "Thing<float const>*", ""}) {
    EXPECT_FALSE(points_to_const(no)) << no;
  }
}

TEST(Signature, SplitsAtTheTopLevelOnly) {
  EXPECT_EQ(parameters("void k<float, 3>(float const*, std::map<int, long>*, void (*)(int, float), int)"),
            (std::vector<std::string_view>{"float const*", "std::map<int, long>*", "void (*)(int, float)", "int"}));
  EXPECT_TRUE(parameters("k()").empty());
  EXPECT_TRUE(parameters("k(void)").empty());
  EXPECT_TRUE(parameters("k").empty());
  EXPECT_EQ(parameters("(anonymous namespace)::k(int*)"), (std::vector<std::string_view>{"int*"}));
  EXPECT_EQ(parameters("void ns::f(int)::{lambda(float*)#1}::operator()(float*, char const*) const"),
            (std::vector<std::string_view>{"float*", "char const*"}));
  EXPECT_EQ(parameters("bool operator< <int>(int const*, int*)"),
            (std::vector<std::string_view>{"int const*", "int*"}));
}

TEST(Signature, PlainName) {
  EXPECT_EQ(plain_name("cudaMemcpyAsync"), "cudaMemcpyAsync");
  EXPECT_EQ(
      plain_name("cudaError cudaLaunchKernel<char>(char const*, dim3, dim3, void**, unsigned long, CUstream_st*)"),
      "cudaLaunchKernel");
  EXPECT_EQ(plain_name("void at::native::elementwise<4, float>(int, float*)"), "elementwise");
  EXPECT_EQ(plain_name("(anonymous namespace)::step()"), "step");
  EXPECT_EQ(
      plain_name("void n::reduce_kernel<512, n::Op<n::sum<float>::operator()(n::Iterator&)::{lambda(float)#1}, 4> "
                 ">(n::Op<n::sum<float>::operator()(n::Iterator&)::{lambda(float)#1}, 4>)"),
      "reduce_kernel");
  EXPECT_EQ(plain_name("void run<decltype(a->b), A::operator-> >(int)"), "run");
  EXPECT_EQ(plain_name("void tensor_operators::add<4, my_operator<float> >(int)"), "add");
  EXPECT_EQ(plain_name(">"), ">");
  EXPECT_EQ(plain_name("bool n::operator< <int>(int, int)"), "operator< <int>");
  EXPECT_EQ(plain_name("std::ostream& n::operator<<(std::ostream&, int)"), "operator<<");
  EXPECT_EQ(plain_name("__main__::add_into[abi:v2][abi:cw51c](Array<float, 1, C>, Array<float, 1, C>)"), "add_into");
  EXPECT_EQ(plain_name(""), "");
}

TEST(Signature, ModesOfMangledKernels) {
  EXPECT_EQ(parameter_modes("_Z7consumePKfPfi"), (Modes{R, U, U}));
  EXPECT_EQ(parameter_modes("_Z4axpyIfEvT_PKS0_PS0_m"), (Modes{U, R, U, U})) << "template parameters are filled in";
  EXPECT_EQ(parameter_modes("_ZN2ns1kEPKvPKPfPPKf"), (Modes{R, R, U}));
  EXPECT_EQ(parameter_modes("_Z1kPVKf"), (Modes{R}));
  EXPECT_EQ(parameter_modes("plain_c_kernel"), Modes{});
  EXPECT_EQ(parameter_modes("_Znonsense"), Modes{});
  EXPECT_EQ(parameter_modes("_Z1kv"), Modes{});
}

}  // namespace
}  // namespace streamsan::judge
