"""A scheduler as a library: objects in, placements and explanations out. `simulation` is the public face."""
