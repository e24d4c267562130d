"""The scheduler's own HTTPS endpoints: health, metrics, configz, statusz, flagz, debug."""
