"""One term as controller: election, brokers, watches."""
