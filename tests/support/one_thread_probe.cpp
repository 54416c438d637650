// SPDX-License-Identifier: Apache-2.0
// Makes a thread although it has one_thread.cpp. A test of that.
#include <thread>

int main() {
  std::thread{[] {}}.join();
}
