// The part of Python's stable interface that this takes. Whoever builds needs no headers of it.
#pragma once

#include <cstddef>

extern "C" {
std::ptrdiff_t PySequence_Size(void* sequence);
void* PySequence_GetItem(void* sequence, std::ptrdiff_t position);
void* PyObject_Type(void* object);
int PyType_IsSubtype(void* type, void* base);
void Py_DecRef(void* object);
void PyErr_Clear();
void* PyEval_SaveThread();
void PyEval_RestoreThread(void* state);
}

namespace ullage {

// Lets other threads of Python go on: what this one waits for may need them.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { PyEval_RestoreThread(state_); }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  void* state_;
};

}  // namespace ullage
