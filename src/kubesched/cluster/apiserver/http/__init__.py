"""The wire: paths, queries, bodies, content negotiation, watch streams, discovery and OpenAPI."""
