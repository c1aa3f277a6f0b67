// The client library of PostgreSQL: Debian's libpq-dev, Homebrew's libpq.
#include <libpq-fe.h>
