"""The commands, one small module each; a command's module is imported when it is called."""
