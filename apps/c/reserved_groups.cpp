// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <lull/apps/c/boundary.hpp>
#include <lull/apps/c/options.hpp>
#include <lull/host/reserved_sms.hpp>

namespace lull::c {

std::function<void(stream_handle)> exchange_of(lull_exchange function, void* context) {
  return [function, context](stream_handle stream) {
    std::int32_t const said = function(context, stream);
    if (said != 0)
      throw refusal{LULL_ERROR_EXCHANGE,
                    "the exchange returned " + std::to_string(said) + ": no reserved groups were measured"};
  };
}

}  // namespace lull::c

extern "C" lull_status lull_measure_reserved_groups(std::int32_t device, lull_exchange exchange, void* context,
                                                    std::int32_t resident, lull_exchange_need* need, char* text,
                                                    std::size_t size, std::size_t* needed) {
  using namespace lull;
  using namespace lull::c;
  return guarded(__func__, [&] {
    fill(need, lull_exchange_need{}, "need");
    give({}, text, size, needed);  // before the exchange, which other ranks take part in
    at_least(device, 0, "device");
    at_least(resident, 1, "resident");
    require(reinterpret_cast<void const*>(exchange), "exchange");
    exchange_need const found = measure_reserved_groups(device, exchange_of(exchange, context), resident);
    fill(need,
         lull_exchange_need{
             .size = 0,
             .reserved_groups = found.reserved_groups != 0 ? found.reserved_groups : -1,  // 0 is two in lull_options
             .resident = found.resident,
             .kernels = found.kernels,
             .blocks = found.largest.blocks,
             .threads = found.largest.threads,
             .cluster = found.largest.cluster,
             .registers = found.largest.registers,
             .shared_bytes = found.largest.shared_bytes},
         "need");
    give(found.text, text, size, needed);
  });
}
