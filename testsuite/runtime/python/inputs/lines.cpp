// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads "FORMAT FIRST-LINE TABLE-IN-HEX CODE-BYTES" and prints the line of every instruction (two bytes), 0 for none.
#include <iostream>
#include <memory>
#include <string>

#include "interposer/python_lines.h"

int main() {
  using namespace streamsan::recorder;
  unsigned format, bytes;
  int first;
  std::string hex;
  while (std::cin >> format >> first >> hex >> bytes) {
    hex.erase(0, 1);  // "x", so that an empty table is a word as well
    const std::size_t length = hex.size() / 2;
    // Exactly as long: AddressSanitizer sees a byte too many.
    const auto table = std::make_unique<unsigned char[]>(length);
    for (std::size_t i = 0; i < length; ++i) {
      table[i] = static_cast<unsigned char>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
    }
    for (unsigned offset = 0; offset < bytes; offset += 2) {
      std::cout << python_line(static_cast<PythonLines>(format), table.get(), length, first, offset) << ' ';
    }
    std::cout << '\n';
  }
}
