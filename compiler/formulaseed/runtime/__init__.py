"""Running what was compiled. Meets a generated module only through `contract`."""
