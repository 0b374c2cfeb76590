// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `rules_page_printer FILE` writes docs/rules.md; without an argument it prints to standard output.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "ordering/rule_catalog.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    streamsan::ordering::print_rules_page(std::cout);
    return std::cout.flush() ? 0 : 1;
  }
  std::ofstream file(argv[1], std::ios::binary);
  streamsan::ordering::print_rules_page(file);
  if (file.flush()) return 0;
  std::perror(argv[1]);
  return 1;
}
