# SPDX-License-Identifier: Apache-2.0
"""ctypes_test.py LIBRARY: a job in bubbles, from a program that opens the library at run time.

It writes the structures of lull.h out once more: what it tests is that a stranger can."""

import ctypes
import sys

LULL_ABI = 1
TIMED_OUT, ERROR_HANDLE, ERROR_ABI = 1, 3, 4
EXECUTOR_THREADS = 1
FINISHED = 3


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        *(
            (name, ctypes.c_int32)
            for name in (
                "executor",
                "device",
                "mode",
                "launch",
                "reserved_groups",
                "processors",
                "team_width",
                "armed_ahead_us",
            )
        ),
        ("memory_limit_bytes", ctypes.c_uint64),
        ("tasks", ctypes.c_char_p),
        ("log", ctypes.c_void_p),
        ("log_context", ctypes.c_void_p),
        ("report", ctypes.c_char_p),
    ]


class JobStatus(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("state", ctypes.c_int32),
        ("phases", ctypes.c_uint64),
        ("round", ctypes.c_uint64),
        ("step", ctypes.c_uint32),
        ("failure", ctypes.c_int32),
        ("items", ctypes.c_uint64),
    ]


def main(path):
    lull = ctypes.CDLL(path)
    lull.lull_error_text.restype = ctypes.c_char_p
    pointer, u64 = ctypes.c_void_p, ctypes.c_uint64

    def call(name, *arguments, expected=0):
        status = getattr(lull, name)(*arguments)
        assert status == expected, (name, status, lull.lull_error_text())

    side, stream, job, bubble = pointer(), pointer(), pointer(), u64()
    options = Options(size=ctypes.sizeof(Options), abi=LULL_ABI + 1, executor=EXECUTOR_THREADS, processors=2)
    call("lull_create", ctypes.byref(options), ctypes.byref(side), expected=ERROR_ABI)
    options.abi = LULL_ABI
    call("lull_create", ctypes.byref(options), ctypes.byref(side))
    call("lull_threads_stream_create", ctypes.byref(stream))
    call("lull_submit", side, b"compute:items=64,rounds=10", None, ctypes.byref(job))
    for _ in range(20_000):
        if lull.lull_job_wait(job, u64(0)) != TIMED_OUT:
            break
        call("lull_open", side, stream, b"receive", ctypes.byref(bubble))
        call("lull_threads_stream_sleep", stream, u64(1_000_000))
        call("lull_close", side, bubble, stream)
        call("lull_threads_stream_synchronize", stream)
    status = JobStatus(size=ctypes.sizeof(JobStatus))
    call("lull_job_get_status", job, ctypes.byref(status))
    assert status.state == FINISHED and status.items == 640, (status.state, status.items)

    ok, needed = ctypes.c_int(), ctypes.c_size_t()
    call("lull_job_verify", job, ctypes.byref(ok), None, ctypes.c_size_t(0), ctypes.byref(needed))
    text = ctypes.create_string_buffer(needed.value)
    call("lull_job_verify", job, ctypes.byref(ok), text, needed, None)
    assert ok.value == 1 and b"64 items" in text.value, text.value
    call("lull_destroy", side)
    call("lull_job_cancel", job, expected=ERROR_HANDLE)
    assert b"not alive" in lull.lull_error_text()
    call("lull_threads_stream_destroy", stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
