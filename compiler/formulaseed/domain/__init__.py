"""What the language knows: types, ranges, operators, functions, and the fields of Yelp's data."""
