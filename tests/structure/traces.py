# SPDX-License-Identifier: Apache-2.0
"""traces.py ROOT: text that must not be in the tree, and why."""

import re
import sys

import tree

LONGEST_FILE = 400  # lines; a longer one is split, or named here with the reason
WIDEST_LINE = 120  # columns, which formatters leave wider only in long words and strings
LONGER_FOR_A_REASON = {
    "tests/model/protocol.pml": "one model: its invariants speak of every variable in it",
    "tests/model/channels.pml": "one model: its judge looks at every queue and stream in it",
}
HAND_WRITTEN = tree.CODE | {".py", ".sh", ".cmake", ".pml"}

# Inside a resident worker there is no kernel boundary that would refresh what the non-coherent path has cached.
NON_COHERENT = re.compile(r"ld\.global(\.[\w:]+)*\.nc\b|__ldg\b|__restrict(__)?\b")
DEVICE_FACING = ("device/", "tasks/", "graph/", "host/cuda/")

# Reserved names: nobody defines one; those of compilers and CUDA are used.
RESERVED = re.compile(r"\b\w*__\w*\b")
NOT_OURS = re.compile(
    r"__(global|device|host|shared|constant|managed|grid_constant|launch_bounds|cluster_dims|align)__"
    r"|__(forceinline|noinline)__"
    r"|__(nanosleep|globaltimer|trap|cvta_generic_to_shared|isShared)"
    r"|__(syncthreads|syncwarp|ballot_sync|activemask|popc|popcll|ffs|clz|shfl(_\w+)?_sync)"
    r"|__(any|all|reduce_\w+|match_\w+)_sync"
    r"|__(byte_perm|fadd_rz|float_as_uint)"
    r"|__(float2bfloat16(_rn)?|bfloat162float|nv_bfloat16\d?|half2?)"
    r"|__(FILE|LINE|COUNTER|VA_ARGS|VA_OPT|func|SIZEOF_INT128|cplusplus|has_include|has_feature|has_builtin)(__)?"
    r"|__(attribute|GNUC|CUDACC|NVCC|CUDA_ARCH|CUDA_ARCH_FEAT_SM90_ALL|SANITIZE_THREAD|SANITIZE_ADDRESS)(__)?"
    r"|__(x86_64|aarch64|linux|int128)(__)?|__(builtin|cxa|tsan|asan|sanitizer)_\w+"
    r"|__CUDACC_VER_M(AJ|IN)OR__|cudaError__\w+|__u?int128_t"
)

# A test that waits without a limit shows a fault as a hang, which tells nothing.
ENDLESS = re.compile(r"while \([^;{]*\)\s*std::this_thread::(yield|sleep_for)\b|\.wait\((false|true|0)?\)")

DRIVER_LINK = re.compile(r"(?<![\w-])-lcuda\b|CUDA::cuda_driver|CUDA::nvml")


def check_code(root, name):
    for number, line in enumerate(tree.code_lines(root, name), start=1):
        for word in RESERVED.findall(line):
            if not NOT_OURS.fullmatch(word) and not NON_COHERENT.fullmatch(word):
                yield f"{name}:{number}: {word}: a name with two underscores is reserved"
    if str(name).startswith(DEVICE_FACING):
        for number, line in enumerate(tree.lines(root, name), start=1):
            found = NON_COHERENT.search(line.split("//")[0])  # strings stay: assembly is one
            if found:
                yield f"{name}:{number}: {found.group()}: a resident worker may read stale data through it"


def check(root):
    findings, checked = [], 0
    for name in tree.files(root):
        build = name.name == "CMakeLists.txt" or name.suffix == ".cmake"
        if not build and name.suffix not in HAND_WRITTEN:
            continue
        checked += 1
        text = tree.lines(root, name)
        if "SPDX-License-Identifier: Apache-2.0" not in "".join(text[:3]):
            findings.append(f"{name}:1: the first lines do not name the licence (SPDX-License-Identifier)")
        if len(text) > LONGEST_FILE and str(name) not in LONGER_FOR_A_REASON:
            findings.append(
                f"{name}: {len(text)} lines: split it (limit {LONGEST_FILE}), or give a reason in traces.py"
            )
        if name.suffix in tree.CODE | {".py"}:
            wide = (number for number, line in enumerate(text, start=1) if len(line) > WIDEST_LINE)
            findings.extend(f"{name}:{number}: more than {WIDEST_LINE} columns" for number in wide)
        if name.suffix in (".hpp", ".cuh") and "#pragma once" not in text:
            findings.append(f"{name}: no #pragma once")
        if name.suffix in tree.CODE:
            findings.extend(check_code(root, name))
        if name.suffix in tree.CODE and name.parts[0] == "tests" and len(name.parts) > 1:
            whole = "\n".join(text)
            for found in ENDLESS.finditer(whole):
                number = whole.count("\n", 0, found.start()) + 1
                findings.append(f"{name}:{number}: a wait without a limit: see tests/support/within_time.hpp")
        if build:
            for number, line in enumerate(text, start=1):
                if DRIVER_LINK.search(line.split("#")[0]):
                    findings.append(f"{name}:{number}: links the driver: machines without one must link, too")
    return findings, checked


if __name__ == "__main__":
    tree.report(*check(sys.argv[1]))
