"""What an editor shows of a seed as it is written."""
