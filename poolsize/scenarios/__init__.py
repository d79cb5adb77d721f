"""Published experiments, one TOML file each."""
