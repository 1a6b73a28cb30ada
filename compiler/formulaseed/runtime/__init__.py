"""Running what was compiled. Meets a generated module only as a `GeneratedModule`."""
