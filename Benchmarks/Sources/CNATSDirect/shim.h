// The official NATS client for C: Debian's libnats-dev, Homebrew's cnats.
#include <nats/nats.h>
