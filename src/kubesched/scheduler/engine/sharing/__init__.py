"""Which templates share kept answers, and the cache of them."""
