"""The configuration: schema, files, references and overrides."""
