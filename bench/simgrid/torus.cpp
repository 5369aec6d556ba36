// The load of bench/src/flow.rs in SimGrid: each host of a torus keeps so many messages under way, to
// others drawn by the same function, each followed by the next when it has arrived.
//
// torus PLATFORM OUTSTANDING BYTES EACH prints messages, CPU seconds of the run, and when the last
// message arrived, in seconds.

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

// Message `number` of a slot of a host: the finaliser of SplitMix64, as in bench/src/flow.rs.
static std::uint64_t to(std::uint64_t host, std::uint64_t slot, std::uint64_t number, std::uint64_t hosts)
{
  std::uint64_t z = ((host << 40) ^ (slot << 24) ^ number) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (host + 1 + z % (hosts - 1)) % hosts;
}

static double cpu_s()
{
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int main(int argc, char** argv)
{
  sg4::Engine engine(&argc, argv);
  if (argc != 5) {
    std::fprintf(stderr, "usage: torus PLATFORM OUTSTANDING BYTES EACH [--cfg=...]\n");
    return 2;
  }
  engine.load_platform(argv[1]);
  const std::uint64_t outstanding = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t bytes       = std::strtoull(argv[3], nullptr, 10);
  const std::uint64_t each        = std::strtoull(argv[4], nullptr, 10);
  const std::uint64_t count       = engine.get_host_count();
  std::vector<sg4::Host*> hosts;
  for (std::uint64_t host = 0; host < count; ++host)
    hosts.push_back(engine.host_by_name(std::to_string(host)));
  for (std::uint64_t host = 0; host < count; ++host)
    for (std::uint64_t slot = 0; slot < outstanding; ++slot)
      sg4::Actor::create("slot", hosts[host], [&hosts, host, slot, bytes, each, count] {
        for (std::uint64_t number = 0; number < each; ++number)
          sg4::Comm::sendto(hosts[host], hosts[to(host, slot, number, count)], bytes);
      });
  const double begin = cpu_s();
  engine.run();
  std::printf("%llu %.6f %.12f\n", static_cast<unsigned long long>(count * outstanding * each),
              cpu_s() - begin, sg4::Engine::get_clock());
  return 0;
}
