"""The trained extractor: learns from recorded extractions, and predicts the fields of the other reviews."""
