// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <lull/tests/host/io/npz_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::test {

inline int run_python(std::string const& script, std::string const& arguments) {
  return std::system((std::string{"\""} + LULL_PYTHON + "\" -B \"" + script + "\" " + arguments).c_str());
}

/// That NumPy finds these arrays, in order, in each of the files. Ends the test as not run where there is no NumPy.
inline void expect_numpy_finds(test_folder const& folder, std::vector<std::string> const& paths,
                               std::vector<filled_array> const& expected) {
  if (run_python(folder.write("numpy_at_hand.py", "import sys\ntry: import numpy\nexcept ImportError: sys.exit(1)\n"),
                 "") != 0) {
    GTEST_SKIP() << "NOT RUN: " << LULL_PYTHON << " has no numpy";
  }
  auto const script = folder.write("check.py", R"(
import sys, numpy
for path in sys.argv[2:]:
    with numpy.load(path, allow_pickle=False) as arrays:
        expected = open(sys.argv[1], 'rb').read()
        names = []
        for line in open(sys.argv[1] + '.txt'):
            name, kind, shape = line.rstrip().split(' ', 2)
            names.append(name)
            array = arrays[name]
            assert str(array.dtype) == str(numpy.dtype('<' + kind)), (name, array.dtype)
            assert array.shape == eval(shape), (name, array.shape)
            assert array.flags.c_contiguous
            data = array.tobytes()
            assert data == expected[:len(data)], name
            expected = expected[len(data):]
        assert arrays.files == names and not expected
)");
  std::string data;
  std::string list;
  for (auto const& [array, bytes] : expected) {
    data += bytes;
    list += array.name + " " + format_npz_shape(array) + "\n";
  }
  auto arguments = '"' + folder.write("data", data) + "\" ";
  folder.write("data.txt", list);
  for (std::string const& path : paths) arguments += '"' + path + "\" ";
  EXPECT_EQ(run_python(script, arguments), 0);
}

}  // namespace lull::test
