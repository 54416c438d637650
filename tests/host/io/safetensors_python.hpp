// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <lull/tests/host/io/safetensors_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::test {

inline int run_python(std::string const& script, std::string const& arguments) {
  return std::system((std::string{"\""} + LULL_PYTHON + "\" -B \"" + script + "\" " + arguments).c_str());
}

/// Runs the body of a Python program in which `found` are the tensors of a file, `metadata` its texts, and `expected`
/// what should be there: type, shape and bytes by name.
inline void expect_python_agrees(test_folder const& folder, std::string const& path,
                                 std::vector<filled_tensor> const& expected, std::string const& body) {
  std::string list;
  std::string data;
  for (auto const& [tensor, bytes] : expected) {
    list += tensor.name + " " + format_shape(tensor) + "\n";
    data += bytes;
  }
  folder.write("data.txt", list);
  auto const script = folder.write("check.py", R"(
import json, struct, sys
expected, data = {}, open(sys.argv[2], 'rb').read()
width = {'F16': 2, 'BF16': 2, 'F32': 4, 'F64': 8, 'BOOL': 1, **{k + str(8 * n): n for k in 'UI' for n in (1, 2, 4, 8)}}
for line in open(sys.argv[2] + '.txt'):
    name, kind, shape = line.rstrip().split(' ', 2)
    shape, size = list(eval(shape)), width[kind]
    for extent in shape: size *= extent
    expected[name], data = (kind, shape, data[:size]), data[size:]
assert not data
)" + body);
  EXPECT_EQ(run_python(script, '"' + path + "\" \"" + folder.write("data", data) + '"'), 0);
}

/// Checks a file's format with an independent reader that needs only Python.
inline void expect_format(test_folder const& folder, std::string const& path,
                          std::vector<filled_tensor> const& expected, std::string const& checks = {}) {
  expect_python_agrees(folder, path, expected, R"(
import zlib
file = open(sys.argv[1], 'rb').read()
length, = struct.unpack('<Q', file[:8])
assert length % 8 == 0 and file[8:9] == b'{'
header, data = json.loads(file[8:8 + length].decode('utf-8')), file[8 + length:]
metadata = header.pop('__metadata__')
assert all(isinstance(text, str) for text in metadata.values())
end = 0
for name, tensor in header.items():  # in the order of their data, without gaps, aligned
    begin, behind = tensor['data_offsets']
    assert begin == end and begin % width[tensor['dtype']] == 0, (name, begin, end)
    end = behind
assert end == len(data)
found = {name: (t['dtype'], t['shape'], data[slice(*t['data_offsets'])]) for name, t in header.items()}
assert found == expected, (found, expected)
own, *sums = metadata['lull.crc32'].split()
assert sums == ['%08x' % zlib.crc32(bytes) for _, _, bytes in found.values()]
assert own == '%08x' % zlib.crc32(file[8:8 + length].replace(own.encode(), b'00000000', 1))
)" + checks);
}

/// Compares a file with what Python's safetensors reads from it. Skips the test if it or NumPy is not installed.
inline void expect_safetensors_agrees(test_folder const& folder, std::string const& path,
                                      std::vector<filled_tensor> const& expected) {
  if (run_python(
          folder.write("current.py", "import sys\ntry: import numpy, safetensors\nexcept ImportError: sys.exit(1)\n"),
          "") != 0) {
    GTEST_SKIP() << "NOT RUN: " << LULL_PYTHON << " has no safetensors and numpy";
  }
  expect_python_agrees(folder, path, expected, R"(
import safetensors
with safetensors.safe_open(sys.argv[1], framework='np') as file:
    assert sorted(file.keys()) == sorted(expected)
    for name, (kind, shape, bytes) in expected.items():
        slice = file.get_slice(name)
        assert slice.get_dtype() == kind and slice.get_shape() == shape, name
        if kind != 'BF16':  # NumPy has none
            assert file.get_tensor(name).tobytes() == bytes, name
for name, tensor in safetensors.deserialize(open(sys.argv[1], 'rb').read()):
    assert (tensor['dtype'], tensor['shape'], tensor['data']) == expected[name], name
)");
}

}  // namespace lull::test
