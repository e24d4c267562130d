"""The cluster in columns: node table, label sets, pod templates, counts, views. Data only, no policy."""
