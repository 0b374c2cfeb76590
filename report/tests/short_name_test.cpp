// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/short_name.h"

#include <gtest/gtest.h>

namespace streamsan::report {
namespace {

TEST(ShortName, OrdinaryNamesStay) {
  EXPECT_EQ(short_name("void scale<float>(float const*, float*, int)"), "void scale<float>(float const*, float*, int)");
  EXPECT_EQ(short_name(""), "");
}

TEST(ShortName, TemplateArgumentsGoFirst) {
  EXPECT_EQ(short_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                       "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"),
            "void at::native::vectorized_elementwise_kernel<...>(...)");
  EXPECT_EQ(
      short_name(
          "std::vector<std::vector<at::Tensor, std::allocator<at::Tensor> >, std::allocator<std::vector<at::Tensor> > "
          ">::push_back(int)"),
      "std::vector<...>::push_back(int)");
}

TEST(ShortName, ALongParameterListGoes) {
  const std::string long_list(150, 'x');
  EXPECT_EQ(short_name("f(" + long_list + ")"), "f(...)");
}

TEST(ShortName, OperatorsKeepTheirBrackets) {
  const std::string long_list(150, 'x');
  EXPECT_EQ(short_name("A::operator<(" + long_list + ")"), "A::operator<(" + long_list + ")");
  EXPECT_EQ(short_name("A::operator()(" + long_list + ") const"), "A::operator()(" + long_list + ") const");
}

TEST(ShortName, WhatIsNotBalancedStays) {
  std::string odd(152, '<');
  odd.replace(0, 150, 150, 'x').back() = '(';
  EXPECT_EQ(short_name(odd), odd);
}

}  // namespace
}  // namespace streamsan::report
