// SPDX-License-Identifier: Apache-2.0
// The two calls of each bubble as functions of CPython's own calling convention (METH_FASTCALL), for the package in
// apps/python. By ctypes each takes microseconds longer, and more where the host has slept. The package hands over the
// functions of the interpreter that they need, so nothing of it is linked. They keep the interpreter's lock.
#include <cstddef>
#include <cstdint>

#include <lull/host/lull.h>

namespace {

struct object;  // the interpreter's

/// In the order in which apps/python/lull/fast_calls.py fills it in.
struct interpreter {
  unsigned long long (*as_unsigned)(object*);    // PyLong_AsUnsignedLongLong
  char* (*as_bytes)(object*);                    // PyBytes_AsString
  object* (*from_unsigned)(unsigned long long);  // PyLong_FromUnsignedLongLong
  object* (*from_signed)(long);                  // PyLong_FromLong
  object* (*error)();                            // PyErr_Occurred
};
interpreter python{};

template <class To>
To* pointer_of(object* number) {
  return reinterpret_cast<To*>(static_cast<std::uintptr_t>(python.as_unsigned(number)));
}

}  // namespace

extern "C" {

void lull_python_begin(interpreter const* functions) { python = *functions; }

/// (runtime, stream, site) → the bubble, or the status of an error as a negative number.
object* lull_python_open(object*, object* const* given, std::ptrdiff_t count) {
  if (count != 3) return python.from_signed(-LULL_ERROR_ARGUMENT);
  auto* const runtime = pointer_of<lull_runtime>(given[0]);
  auto* const stream = pointer_of<void>(given[1]);
  char const* const site = python.as_bytes(given[2]);
  if (python.error() != nullptr) return nullptr;
  lull_bubble bubble = 0;
  if (lull_status const status = lull_open(runtime, stream, site, &bubble); status != LULL_OK)
    return python.from_signed(-static_cast<long>(status));
  return python.from_unsigned(bubble);
}

/// (runtime, bubble, stream) → the status.
object* lull_python_close(object*, object* const* given, std::ptrdiff_t count) {
  if (count != 3) return python.from_signed(LULL_ERROR_ARGUMENT);
  auto* const runtime = pointer_of<lull_runtime>(given[0]);
  lull_bubble const bubble = python.as_unsigned(given[1]);
  auto* const stream = pointer_of<void>(given[2]);
  if (python.error() != nullptr) return nullptr;
  return python.from_signed(static_cast<long>(lull_close(runtime, bubble, stream)));
}

}  // extern "C"
